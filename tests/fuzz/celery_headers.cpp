// The headers of an AMQP message, from the bytes that came: as JSON, and back to what a worker publishes.

#include "05_distributed/celery/json_table.hpp"
#include "fuzz.hpp"

void one_input(std::string_view input) {
  using namespace celery;
  amqp_pool_t pool;
  init_amqp_pool(&pool, 4096);
  amqp_table_t table = amqp_empty_table;
  std::size_t offset = 0;
  if (amqp_decode_table(amqp::bytes_of(input), &pool, &table, &offset) == AMQP_STATUS_OK) {
    const json::object headers = to_json(table);
    const std::string text = json::serialize(headers);
    require(is_utf8(text), "headers as JSON are UTF-8");
    json::error_code error;
    json::parse(text, error);
    require(!error, "headers as JSON are JSON");
    try {
      const Table sent(headers);
      const json::object received = to_json(sent.get());  // without the kinds of number that are AMQP's alone
      require(received.size() == headers.size(), "no header is lost");
      const Table sent_again(received);
      require(to_json(sent_again.get()) == received, "the same headers come back");
    } catch (const std::invalid_argument&) {
      // With question marks for the bytes that are no UTF-8, a key may be longer than AMQP allows.
    }
  }
  empty_amqp_pool(&pool);
}
