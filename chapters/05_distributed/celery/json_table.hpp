/// The headers of an AMQP message as a JSON object, and back.
#pragma once

#include <boost/json.hpp>
#include <new>
#include <string_view>

#include "amqp.hpp"
#include "celery/untrusted_json.hpp"

namespace celery {

inline json::object to_json(const amqp_table_t& table, int depth = 0);

/// AMQP has more kinds of value than JSON: a decimal number, one that is infinite or undefined, and all that is nested
/// more than 16 deep become null; a byte that is no UTF-8 becomes a question mark.
inline json::value to_json(const amqp_field_value_t& field, int depth) {
  if (depth > 16) return nullptr;
  switch (field.kind) {
    case AMQP_FIELD_KIND_BOOLEAN:
      return field.value.boolean != 0;
    case AMQP_FIELD_KIND_I8:
      return field.value.i8;
    case AMQP_FIELD_KIND_U8:
      return field.value.u8;
    case AMQP_FIELD_KIND_I16:
      return field.value.i16;
    case AMQP_FIELD_KIND_U16:
      return field.value.u16;
    case AMQP_FIELD_KIND_I32:
      return field.value.i32;
    case AMQP_FIELD_KIND_U32:
      return field.value.u32;
    case AMQP_FIELD_KIND_I64:
      return field.value.i64;
    case AMQP_FIELD_KIND_U64:
    case AMQP_FIELD_KIND_TIMESTAMP:
      return field.value.u64;
    case AMQP_FIELD_KIND_F32:
      return std::isfinite(field.value.f32) ? json::value(field.value.f32) : nullptr;
    case AMQP_FIELD_KIND_F64:
      return std::isfinite(field.value.f64) ? json::value(field.value.f64) : nullptr;
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
      return json::string(as_utf8(amqp::text_of(field.value.bytes)));
    case AMQP_FIELD_KIND_TABLE:
      return to_json(field.value.table, depth + 1);
    case AMQP_FIELD_KIND_ARRAY: {
      json::array array;
      for (int i = 0; i < field.value.array.num_entries; ++i) {
        array.push_back(to_json(field.value.array.entries[i], depth + 1));
      }
      return array;
    }
    default:
      return nullptr;
  }
}

inline json::object to_json(const amqp_table_t& table, int depth) {
  json::object object;
  for (int i = 0; i < table.num_entries; ++i) {
    object[as_utf8(amqp::text_of(table.entries[i].key))] = to_json(table.entries[i].value, depth);
  }
  return object;
}

/// An AMQP table made of a JSON object, which has to live as long: texts stay where they are. The constructor throws
/// std::invalid_argument if a key has more than the 255 bytes that AMQP allows.
class Table {
 public:
  explicit Table(const json::object& object) {
    init_amqp_pool(&pool_, 4096);
    try {
      table_ = make(object);
    } catch (...) {
      empty_amqp_pool(&pool_);
      throw;
    }
  }
  ~Table() { empty_amqp_pool(&pool_); }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  const amqp_table_t& get() const { return table_; }

 private:
  amqp_table_t make(const json::object& object) {
    amqp_table_t table = {static_cast<int>(object.size()), allocate<amqp_table_entry_t>(object.size())};
    int i = 0;
    for (const auto& [key, value] : object) table.entries[i++] = {amqp::short_text(key), make(value)};
    return table;
  }

  amqp_field_value_t make(const json::value& value) {
    amqp_field_value_t field = {};
    field.kind = AMQP_FIELD_KIND_VOID;  // JSON's null
    if (value.is_bool()) {
      field.kind = AMQP_FIELD_KIND_BOOLEAN;
      field.value.boolean = value.get_bool();
    } else if (value.is_int64()) {
      field.kind = AMQP_FIELD_KIND_I64;
      field.value.i64 = value.get_int64();
    } else if (value.is_number()) {
      field.kind = AMQP_FIELD_KIND_F64;
      field.value.f64 = value.to_number<double>();
    } else if (value.is_string()) {
      field.kind = AMQP_FIELD_KIND_UTF8;
      field.value.bytes = amqp::bytes_of(value.get_string());
    } else if (value.is_object()) {
      field.kind = AMQP_FIELD_KIND_TABLE;
      field.value.table = make(value.get_object());
    } else if (value.is_array()) {
      const json::array& array = value.get_array();
      field.kind = AMQP_FIELD_KIND_ARRAY;
      field.value.array = {static_cast<int>(array.size()), allocate<amqp_field_value_t>(array.size())};
      for (std::size_t i = 0; i < array.size(); ++i) field.value.array.entries[i] = make(array[i]);
    }
    return field;
  }

  template <typename Entry>
  Entry* allocate(std::size_t count) {
    void* memory = amqp_pool_alloc(&pool_, count * sizeof(Entry));
    if (memory == nullptr && count > 0) throw std::bad_alloc();
    return static_cast<Entry*>(memory);
  }

  amqp_pool_t pool_;
  amqp_table_t table_;
};

}  // namespace celery
