/// A connection to an AMQP broker such as RabbitMQ: librabbitmq, with the result of every call checked.
#pragma once

#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <sys/time.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cookbook/print.hpp"

namespace amqp {

/// The broker refuses what it was asked for, or it or the connection to it is gone.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
  int code = 0;  ///< the broker's, such as AMQP_NOT_FOUND; 0 if it has not said why
};

/// The broker has no queue for a message that was published with Unrouted::error.
struct Unroutable : Error {
  using Error::Error;
};

struct Message {
  std::string body = "";
  std::string reply_to = "";        ///< the queue for the answer
  std::string correlation_id = "";  ///< says which question an answer belongs to
  std::string content_type = "text/plain";
  std::string content_encoding = "utf-8";
  amqp_table_t headers = amqp_empty_table;  ///< a delivery owns them; others must live until publish() returns
  bool persistent = true;                   ///< in a durable queue: kept on disk, so that it outlives the broker
};

struct Delivery : Message {
  std::uint64_t tag = 0;     ///< to acknowledge or to reject it by
  bool redelivered = false;  ///< a consumer had it before, and did not acknowledge it
  std::string queue = "";    ///< that it comes from
  std::shared_ptr<amqp_pool_t> headers_memory = {};
};

enum class Acknowledgement {
  manual,    ///< the broker keeps a message until it is acknowledged
  automatic  ///< the broker forgets a message as soon as it has sent it
};

/// What the broker does with a message for which there is no queue.
enum class Unrouted {
  dropped,  ///< forgets it, and confirms even that
  error     ///< sends it back: the message is "mandatory", and confirm() throws Unroutable
};

enum class Acknowledged { this_one, up_to_this_one };

struct QueueOptions {
  bool durable = true;            ///< outlives the broker
  bool auto_delete = false;       ///< is deleted when its last consumer has gone
  bool exclusive = false;         ///< only for this connection, and deleted with it
  std::string dead_letters = "";  ///< the queue for the messages that are rejected
};

inline std::string_view text_of(const amqp_bytes_t& bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

/// The bytes stay where `text` has them.
inline amqp_bytes_t bytes_of(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }

/// The same for a name, of which AMQP allows 255 bytes. Throws std::invalid_argument if it has more.
inline amqp_bytes_t short_text(std::string_view text) {
  if (text.size() > 255) throw std::invalid_argument("longer than the 255 bytes that AMQP allows");
  return bytes_of(text);
}

/// Where a broker is, and who logs in.
struct Address {
  std::string host, user, password, vhost;
  int port;
};

/// The parts of amqp://user:password@host:port/vhost. Throws std::invalid_argument if `url` is no such address.
inline Address parse_url(std::string url) {
  const std::string shown = url.substr(url.find('@') + 1);  // without the password
  // The virtual host is mostly named "/". Celery writes it as a second slash, librabbitmq wants it left out.
  const std::size_t path = url.find('/', std::string_view("amqp://").size());
  if (path != std::string::npos && url.find_first_not_of('/', path) == std::string::npos) url.resize(path);
  amqp_connection_info where;
  amqp_default_connection_info(&where);
  if (amqp_parse_url(url.data(), &where) != AMQP_STATUS_OK || where.ssl != 0) {
    throw std::invalid_argument(shown + ": an address has the form amqp://user:password@host:port/vhost");
  }
  return {where.host, where.user, where.password, where.vhost, where.port};
}

/// One connection with one channel, for one thread. Every call throws Error if it fails.
class Connection {
 public:
  /// Connects to amqp://user:password@host:port/vhost, and logs in. Throws std::invalid_argument if `url` is no such
  /// address. With a heartbeat, each side notices within twice this time that the other is gone without a word; it is
  /// sent by next(), which therefore has to be called more often.
  explicit Connection(const std::string& url, int heartbeat_seconds = 0) {
    const Address where = parse_url(url);
    const std::string shown = url.substr(url.find('@') + 1);  // without the password
    amqp_socket_t* socket = amqp_tcp_socket_new(state_.get());
    const timeval time_to_connect = {3, 0}, time_to_answer = {10, 0};
    check(amqp_socket_open_noblock(socket, where.host.c_str(), where.port, &time_to_connect), "connect to " + shown);
    check(amqp_set_handshake_timeout(state_.get(), &time_to_answer), "set a timeout");
    check(amqp_set_rpc_timeout(state_.get(), &time_to_answer), "set a timeout");
    check(amqp_login(state_.get(), where.vhost.c_str(), 0, frame_max, heartbeat_seconds, AMQP_SASL_METHOD_PLAIN,
                     where.user.c_str(), where.password.c_str()),
          "log in at " + shown);
    amqp_channel_open(state_.get(), channel);
    check(amqp_get_rpc_reply(state_.get()), "open a channel");
    amqp_confirm_select(state_.get(), channel);
    check(amqp_get_rpc_reply(state_.get()), "ask for confirmations");
    usable_ = true;
  }

  ~Connection() {
    if (usable_) amqp_connection_close(state_.get(), AMQP_REPLY_SUCCESS);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Makes a queue, or finds one that was made with the same options. An empty name lets the broker invent one.
  /// Returns the name.
  std::string declare_queue(const std::string& name, const QueueOptions& options = {}) {
    amqp_table_entry_t entries[2];
    entries[0].key = amqp_cstring_bytes("x-dead-letter-exchange");
    entries[1].key = amqp_cstring_bytes("x-dead-letter-routing-key");
    entries[0].value.kind = entries[1].value.kind = AMQP_FIELD_KIND_UTF8;
    entries[0].value.value.bytes =
        amqp_empty_bytes;  // the default exchange, which leads to the queue of the key's name
    entries[1].value.value.bytes = bytes_of(options.dead_letters);
    const amqp_table_t arguments = {options.dead_letters.empty() ? 0 : 2, entries};
    const auto* answer = amqp_queue_declare(state_.get(), channel, bytes_of(name), 0, options.durable,
                                            options.exclusive, options.auto_delete, arguments);
    check(amqp_get_rpc_reply(state_.get()), "declare queue " + name);
    return std::string(text_of(answer->queue));
  }

  /// How many messages wait in a queue, not counting those that a consumer holds.
  std::uint32_t waiting(const std::string& queue) { return look_at(queue).message_count; }

  /// How many consumers a queue has, on all connections.
  std::uint32_t consumers(const std::string& queue) { return look_at(queue).consumer_count; }

  void delete_queue(const std::string& queue) {
    amqp_queue_delete(state_.get(), channel, bytes_of(queue), 0, 0);
    check(amqp_get_rpc_reply(state_.get()), "delete queue " + queue);
  }

  void declare_exchange(const std::string& name, const char* type, bool durable) {
    amqp_exchange_declare(state_.get(), channel, bytes_of(name), amqp_cstring_bytes(type), 0, durable, 0, 0,
                          amqp_empty_table);
    check(amqp_get_rpc_reply(state_.get()), "declare exchange " + name);
  }

  void bind(const std::string& queue, const std::string& exchange, const std::string& key) {
    amqp_queue_bind(state_.get(), channel, bytes_of(queue), bytes_of(exchange), bytes_of(key), amqp_empty_table);
    check(amqp_get_rpc_reply(state_.get()), "bind queue " + queue);
  }

  /// How many messages the broker may send to this connection ahead of their acknowledgement.
  void prefetch(std::uint16_t count) {
    amqp_basic_qos(state_.get(), channel, 0, count, 1);
    check(amqp_get_rpc_reply(state_.get()), "set the prefetch count");
  }

  /// Lets the broker send the messages of a queue; next() returns them.
  void consume(const std::string& queue, Acknowledgement acknowledgement = Acknowledgement::manual) {
    amqp_basic_consume(state_.get(), channel, bytes_of(queue), bytes_of(queue), 0,
                       acknowledgement == Acknowledgement::automatic, 0, amqp_empty_table);
    check(amqp_get_rpc_reply(state_.get()), "consume from queue " + queue);
  }

  /// Messages that the broker has sent already still come.
  void stop_consuming(const std::string& queue) {
    amqp_basic_cancel(state_.get(), channel, bytes_of(queue));
    check(amqp_get_rpc_reply(state_.get()), "stop consuming from queue " + queue);
  }

  /// Sends a message to an exchange. The exchange with the empty name puts it into the queue named by `key`. Does not
  /// wait. Throws std::invalid_argument if the headers do not fit into a frame, or a text into its 255 bytes.
  /// Returns the message's number, for is_confirmed().
  std::uint64_t publish(const std::string& exchange, const std::string& key, const Message& message,
                        Unrouted unrouted = Unrouted::dropped) {
    amqp_basic_properties_t properties = {};
    properties._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_CONTENT_ENCODING_FLAG | AMQP_BASIC_HEADERS_FLAG |
                        AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG | AMQP_BASIC_REPLY_TO_FLAG;
    properties.content_type = short_text(message.content_type);
    properties.content_encoding = short_text(message.content_encoding);
    properties.correlation_id = short_text(message.correlation_id);
    properties.reply_to = short_text(message.reply_to);
    properties.delivery_mode = message.persistent ? 2 : 1;
    properties.headers = message.headers;
    // The library notices headers that are too large when it has sent the first of three frames; then the connection is
    // of no use any more. So they are encoded here before, into as much space as a frame has for them.
    encoded_.resize(static_cast<std::size_t>(amqp_get_frame_max(state_.get())) - 20);
    if (amqp_encode_properties(AMQP_BASIC_CLASS, &properties, bytes_of(encoded_)) < 0) {
      throw std::invalid_argument("the headers do not fit into a frame");
    }
    check(amqp_basic_publish(state_.get(), channel, short_text(exchange), short_text(key), unrouted == Unrouted::error,
                             0, &properties, bytes_of(message.body)),
          "publish to " + key);
    unconfirmed_.insert(++published_);
    return published_;
  }

  /// Waits until the broker has confirmed all that was published: it is responsible for it now. Throws Unroutable if it
  /// had no queue for a message that was published with Unrouted::error.
  void confirm(std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (!unconfirmed_.empty()) {
      if (auto delivery = read_frame(time_until(end))) inbox_.push_back(std::move(*delivery));
      if (std::chrono::steady_clock::now() >= end) throw Error("the broker has not confirmed a message in time");
    }
    if (!returned_.empty()) throw Unroutable(std::exchange(returned_, ""));
  }

  /// Whether confirm() or next() has read the broker's confirmation of the message with this number.
  bool is_confirmed(std::uint64_t number) const { return !unconfirmed_.contains(number); }

  /// The next message of the queues that are consumed from; nothing if none comes in time.
  std::optional<Delivery> next(std::chrono::milliseconds timeout) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    do {
      if (!inbox_.empty()) {
        std::optional<Delivery> first = std::move(inbox_.front());
        inbox_.pop_front();
        return first;
      }
      if (auto delivery = read_frame(time_until(end))) return delivery;
    } while (amqp_frames_enqueued(state_.get()) || amqp_data_in_buffer(state_.get()) ||
             std::chrono::steady_clock::now() < end);
    return {};
  }

  /// The broker forgets the message, or this one and all that it sent before.
  void acknowledge(const Delivery& delivery) { acknowledge(delivery.tag, Acknowledged::this_one); }
  void acknowledge(std::uint64_t tag, Acknowledged which) {
    check(amqp_basic_ack(state_.get(), channel, tag, which == Acknowledged::up_to_this_one), "acknowledge a message");
  }

  /// The broker moves the message to the dead letters of its queue.
  void reject(const Delivery& delivery) {
    check(amqp_basic_reject(state_.get(), channel, delivery.tag, 0), "reject a message");
  }

  /// The broker puts the message back into its queue, for the next consumer.
  void give_back(const Delivery& delivery) {
    check(amqp_basic_reject(state_.get(), channel, delivery.tag, 1), "give a message back");
  }

  /// For poll(): the socket is readable, or has_read_ahead(), when next() may have something to return.
  int socket() const { return amqp_get_sockfd(state_.get()); }
  bool has_read_ahead() const {
    return !inbox_.empty() || amqp_frames_enqueued(state_.get()) || amqp_data_in_buffer(state_.get());
  }

 private:
  static constexpr int frame_max = 131'072;
  static constexpr amqp_channel_t channel = 1;

  /// The broker's answer is valid until the next call of any of these functions.
  const amqp_queue_declare_ok_t& look_at(const std::string& queue) {
    const amqp_boolean_t only_if_it_exists = 1;
    const auto* answer =
        amqp_queue_declare(state_.get(), channel, bytes_of(queue), only_if_it_exists, 0, 0, 0, amqp_empty_table);
    check(amqp_get_rpc_reply(state_.get()), "look at queue " + queue);
    return *answer;
  }

  static timeval time_until(std::chrono::steady_clock::time_point end) {
    using namespace std::chrono;
    const auto left = std::max<long>(0, duration_cast<microseconds>(end - steady_clock::now()).count());
    return {left / 1'000'000, left % 1'000'000};
  }

  [[noreturn]] void fail(const std::string& why, int code = 0) {
    usable_ = false;
    Error error(why);
    error.code = code;
    throw error;
  }

  void check(int status, const std::string& what) {
    if (status != AMQP_STATUS_OK) fail(what + ": " + amqp_error_string2(status));
  }

  void check(const amqp_rpc_reply_t& reply, const std::string& what) {
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) return;
    if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION) check(reply.library_error, what);
    fail_by(reply.reply, what);
  }

  /// For a method by which the broker closes the channel or the connection: it says why.
  [[noreturn]] void fail_by(const amqp_method_t& method, const std::string& what) {
    if (method.id == AMQP_CHANNEL_CLOSE_METHOD) {
      const auto& close = *static_cast<amqp_channel_close_t*>(method.decoded);
      fail(what + ": " + std::string(text_of(close.reply_text)), close.reply_code);
    }
    const auto& close = *static_cast<amqp_connection_close_t*>(method.decoded);
    fail(what + ": " + std::string(text_of(close.reply_text)), close.reply_code);
  }

  /// Handles what comes next. Returns it if it is a delivery.
  std::optional<Delivery> read_frame(const timeval& timeout) {
    amqp_maybe_release_buffers(state_.get());
    amqp_frame_t frame;
    const int status = amqp_simple_wait_frame_noblock(state_.get(), &frame, &timeout);
    if (status == AMQP_STATUS_TIMEOUT) return {};
    check(status, "wait for the broker");
    if (frame.frame_type != AMQP_FRAME_METHOD) return {};
    const amqp_method_t& method = frame.payload.method;
    switch (method.id) {
      case AMQP_BASIC_DELIVER_METHOD: {
        const auto& deliver = *static_cast<amqp_basic_deliver_t*>(method.decoded);
        Delivery delivery;
        delivery.tag = deliver.delivery_tag;
        delivery.redelivered = deliver.redelivered != 0;
        delivery.queue = text_of(deliver.consumer_tag);  // consume() names the consumer like its queue
        read_message(delivery);
        return delivery;
      }
      case AMQP_BASIC_RETURN_METHOD: {
        const auto& back = *static_cast<amqp_basic_return_t*>(method.decoded);
        returned_ = fmt::format("the broker has no queue for a message to '{}'", text_of(back.routing_key));
        Delivery unwanted;
        read_message(unwanted);
        break;
      }
      case AMQP_BASIC_ACK_METHOD: {
        const auto& ack = *static_cast<amqp_basic_ack_t*>(method.decoded);
        unconfirmed_.erase(ack.delivery_tag);
        if (ack.multiple) unconfirmed_.erase(unconfirmed_.begin(), unconfirmed_.upper_bound(ack.delivery_tag));
        break;
      }
      case AMQP_BASIC_NACK_METHOD:
        fail("the broker could not keep a message");
      case AMQP_BASIC_CANCEL_METHOD:
        fail("a queue that this program consumes from was deleted");
      case AMQP_CHANNEL_CLOSE_METHOD:
      case AMQP_CONNECTION_CLOSE_METHOD:
        fail_by(method, "the broker closes the connection");
      default:
        break;
    }
    return {};
  }

  /// A message comes in frames: first one with its properties, then as many with its body as are needed. (The library's
  /// amqp_read_message() fails if a header's name is empty. The message stays at the broker then, for the next reader,
  /// who fails as well.)
  void read_message(Delivery& delivery) {
    amqp_frame_t frame = next_frame(AMQP_FRAME_HEADER);
    auto& properties = *static_cast<amqp_basic_properties_t*>(frame.payload.properties.decoded);
    const std::uint64_t size = frame.payload.properties.body_size;
    const auto text = [&](amqp_flags_t flag, const amqp_bytes_t& value) {
      return std::string(properties._flags & flag ? text_of(value) : std::string_view());
    };
    delivery.reply_to = text(AMQP_BASIC_REPLY_TO_FLAG, properties.reply_to);
    delivery.correlation_id = text(AMQP_BASIC_CORRELATION_ID_FLAG, properties.correlation_id);
    delivery.content_type = text(AMQP_BASIC_CONTENT_TYPE_FLAG, properties.content_type);
    delivery.content_encoding = text(AMQP_BASIC_CONTENT_ENCODING_FLAG, properties.content_encoding);
    delivery.persistent = properties._flags & AMQP_BASIC_DELIVERY_MODE_FLAG && properties.delivery_mode == 2;
    if (properties._flags & AMQP_BASIC_HEADERS_FLAG) {
      make_copyable(properties.headers);
      delivery.headers_memory = {new amqp_pool_t, [](amqp_pool_t* pool) {
                                   empty_amqp_pool(pool);
                                   delete pool;
                                 }};
      init_amqp_pool(delivery.headers_memory.get(), 4096);
      check(amqp_table_clone(&properties.headers, &delivery.headers, delivery.headers_memory.get()), "copy headers");
    }
    while (delivery.body.size() < size) {
      frame = next_frame(AMQP_FRAME_BODY);
      delivery.body += text_of(frame.payload.body_fragment);
    }
  }

  /// The next frame, of a message that has begun.
  amqp_frame_t next_frame(std::uint8_t type) {
    const timeval time_to_come = {30, 0};
    amqp_frame_t frame;
    check(amqp_simple_wait_frame_noblock(state_.get(), &frame, &time_to_come), "read a message");
    if (frame.frame_type != type) fail("the broker sends something else within a message");
    return frame;
  }

  /// What the library does not copy: an empty name gets a question mark, and what is nested more than 100 deep goes.
  static void make_copyable(amqp_table_t& table, int depth = 0) {
    for (int i = 0; i < table.num_entries; ++i) {
      if (table.entries[i].key.len == 0) table.entries[i].key = amqp_cstring_bytes("?");
      make_copyable(table.entries[i].value, depth + 1);
    }
  }
  static void make_copyable(amqp_field_value_t& value, int depth) {
    if (depth > 100) value.kind = AMQP_FIELD_KIND_VOID;
    if (value.kind == AMQP_FIELD_KIND_TABLE) make_copyable(value.value.table, depth);
    if (value.kind != AMQP_FIELD_KIND_ARRAY) return;
    for (int i = 0; i < value.value.array.num_entries; ++i) make_copyable(value.value.array.entries[i], depth + 1);
  }

  struct Destroy {
    void operator()(amqp_connection_state_t state) const { amqp_destroy_connection(state); }
  };
  std::unique_ptr<amqp_connection_state_t_, Destroy> state_{amqp_new_connection()};
  bool usable_ = false;
  std::deque<Delivery> inbox_;  ///< what came while something else was waited for
  std::set<std::uint64_t> unconfirmed_;
  std::uint64_t published_ = 0;
  std::string returned_;
  std::string encoded_;
};

}  // namespace amqp
