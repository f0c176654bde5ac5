/// The headers of an AMQP message as a JSON object, both ways, so that the programs handle one kind of value only.
#pragma once

#include <amqp.h>

#include <boost/json.hpp>
#include <cstring>
#include <new>
#include <string_view>

namespace task_queue {

namespace json = boost::json;

inline std::string_view text_of(const amqp_bytes_t& bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

/// The bytes stay where `text` has them.
inline amqp_bytes_t bytes_of(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }

/// Tables and lists inside one another, at most; what is deeper becomes null, lest a hostile message exhaust the stack.
inline constexpr int deepest = 16;

inline json::object to_json(const amqp_table_t& table, int depth = 0);

/// AMQP has more kinds of value than JSON: what JSON lacks becomes the nearest, and a decimal number becomes null.
inline json::value to_json(const amqp_field_value_t& field, int depth) {
  if (depth > deepest) return nullptr;
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
      return field.value.f32;
    case AMQP_FIELD_KIND_F64:
      return field.value.f64;
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
      return json::string(text_of(field.value.bytes));
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
    object[text_of(table.entries[i].key)] = to_json(table.entries[i].value, depth);
  }
  return object;
}

/// Memory for tables; all of it is free again with the pool, or at clear().
class Pool {
 public:
  Pool() { init_amqp_pool(&pool_, 4096); }
  ~Pool() { empty_amqp_pool(&pool_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void clear() { recycle_amqp_pool(&pool_); }

  template <typename Entry>
  Entry* make(std::size_t count) {
    void* memory = amqp_pool_alloc(&pool_, count * sizeof(Entry));
    if (memory == nullptr && count > 0) throw std::bad_alloc();
    return static_cast<Entry*>(memory);
  }

 private:
  amqp_pool_t pool_;
};

inline amqp_table_t to_table(const json::object& object, Pool& pool);

/// Texts stay where `value` has them; lists and tables are made in `pool`.
inline amqp_field_value_t to_field(const json::value& value, Pool& pool) {
  amqp_field_value_t field;
  std::memset(&field, 0, sizeof field);
  switch (value.kind()) {
    case json::kind::null:
      field.kind = AMQP_FIELD_KIND_VOID;
      break;
    case json::kind::bool_:
      field.kind = AMQP_FIELD_KIND_BOOLEAN;
      field.value.boolean = value.get_bool();
      break;
    case json::kind::int64:
      field.kind = AMQP_FIELD_KIND_I64;
      field.value.i64 = value.get_int64();
      break;
    case json::kind::uint64:  // beyond the signed numbers, the only ones that every AMQP library reads
    case json::kind::double_:
      field.kind = AMQP_FIELD_KIND_F64;
      field.value.f64 = value.to_number<double>();
      break;
    case json::kind::string:
      field.kind = AMQP_FIELD_KIND_UTF8;
      field.value.bytes = bytes_of(value.get_string());
      break;
    case json::kind::object:
      field.kind = AMQP_FIELD_KIND_TABLE;
      field.value.table = to_table(value.get_object(), pool);
      break;
    case json::kind::array: {
      const json::array& array = value.get_array();
      field.kind = AMQP_FIELD_KIND_ARRAY;
      field.value.array = {static_cast<int>(array.size()), pool.make<amqp_field_value_t>(array.size())};
      for (std::size_t i = 0; i < array.size(); ++i) field.value.array.entries[i] = to_field(array[i], pool);
      break;
    }
  }
  return field;
}

inline amqp_table_t to_table(const json::object& object, Pool& pool) {
  amqp_table_t table = {static_cast<int>(object.size()), pool.make<amqp_table_entry_t>(object.size())};
  int i = 0;
  for (const auto& [key, value] : object) table.entries[i++] = {bytes_of(key), to_field(value, pool)};
  return table;
}

}  // namespace task_queue
