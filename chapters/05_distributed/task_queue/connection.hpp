/// A connection to an AMQP broker: librabbitmq, with every call checked.
///
/// librabbitmq's connections are not thread-safe, so each connection here is used by one thread alone. A program that
/// has more threads lets them hand over what they want to send (executor.hpp).
#pragma once

#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <sys/time.h>

#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "broker.hpp"

namespace task_queue {

class Connection {
 public:
  /// Connects, logs in and opens channel 1, on which all happens that names no other. Throws Lost or Refused.
  /// Heartbeats show when the other host is dead; they are sent inside the calls below, so only who calls often can
  /// have them.
  explicit Connection(const Address& address, int heartbeat_seconds = 0) {
    amqp_socket_t* socket = amqp_tcp_socket_new(state_);
    if (socket == nullptr) throw std::bad_alloc();  // the library's only other answer
    const timeval to_connect = {3, 0}, to_answer = {10, 0};
    check(amqp_socket_open_noblock(socket, address.host.c_str(), address.port, &to_connect),
          fmt::format("connect to {}:{}", address.host, address.port));
    check(amqp_set_handshake_timeout(state_, &to_answer), "set the time to answer");
    check(amqp_set_rpc_timeout(state_, &to_answer), "set the time to answer");
    check(amqp_login(state_, address.vhost.c_str(), 0, 131072, heartbeat_seconds, AMQP_SASL_METHOD_PLAIN,
                     address.user.c_str(), address.password.c_str()),
          fmt::format("log in at {}", address.text()));
    open_channel(1);
  }

  ~Connection() {
    if (usable_) amqp_connection_close(state_, AMQP_REPLY_SUCCESS);  // answered when all that was sent before is done
  }

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void open_channel(amqp_channel_t channel) {
    amqp_channel_open(state_, channel);
    check(amqp_get_rpc_reply(state_), "open a channel");
  }

  void declare_exchange(const std::string& name, const char* type, bool durable) {
    amqp_exchange_declare(state_, 1, bytes(name), amqp_cstring_bytes(type), 0, durable, 0, 0, amqp_empty_table);
    check(amqp_get_rpc_reply(state_), "declare exchange " + name);
  }

  void declare_queue(const std::string& name, bool durable, bool auto_delete, const json::object& arguments = {}) {
    pool_.clear();
    amqp_queue_declare(state_, 1, bytes(name), 0, durable, 0, auto_delete, to_table(arguments, pool_));
    check(amqp_get_rpc_reply(state_), "declare queue " + name);
  }

  void delete_queue(const std::string& name) {
    amqp_queue_delete(state_, 1, bytes(name), 0, 0);
    check(amqp_get_rpc_reply(state_), "delete queue " + name);
  }

  void bind(const std::string& queue, const std::string& exchange, const std::string& key) {
    amqp_queue_bind(state_, 1, bytes(queue), bytes(exchange), bytes(key), amqp_empty_table);
    check(amqp_get_rpc_reply(state_), "bind queue " + queue);
  }

  /// A queue for tasks, declared as Celery declares it: durable, with a direct exchange and a key of its own name.
  void declare_task_queue(const std::string& name) {
    declare_exchange(name, "direct", true);
    declare_queue(name, true, false);
    bind(name, name, name);
  }

  struct Depth {
    std::uint32_t messages;  ///< that wait, those aside that a consumer has and has not acknowledged
    std::uint32_t consumers;
  };

  /// What a queue holds; nothing if there is no such queue.
  std::optional<Depth> depth(const std::string& queue) {
    const amqp_channel_t asking = 3;  // the broker answers a question about a missing queue by closing the channel
    open_channel(asking);
    const auto* answer = amqp_queue_declare(state_, asking, bytes(queue), 1, 0, 0, 0, amqp_empty_table);
    if (answer != nullptr) {
      const Depth found = {answer->message_count, answer->consumer_count};
      check(amqp_channel_close(state_, asking, AMQP_REPLY_SUCCESS), "close a channel");
      return found;
    }
    const amqp_rpc_reply_t reply = amqp_get_rpc_reply(state_);
    if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION || reply.reply.id != AMQP_CHANNEL_CLOSE_METHOD) {
      check(reply, "look at queue " + queue);
    }
    amqp_channel_close_ok_t noted = {};
    check(amqp_send_method(state_, asking, AMQP_CHANNEL_CLOSE_OK_METHOD, &noted), "close a channel");
    return {};
  }

  /// How many messages the broker may send ahead of their acknowledgement, to all consumers of the channel together.
  void prefetch(std::uint16_t count) {
    amqp_basic_qos(state_, 1, 0, count, 1);
    check(amqp_get_rpc_reply(state_), "set the prefetch count");
  }

  /// Lets the broker send the messages of a queue; if they need no acknowledgement, each is done once it is sent.
  void consume(const std::string& queue, bool acknowledged) {
    amqp_basic_consume(state_, 1, bytes(queue), bytes(queue), 0, !acknowledged, 0, amqp_empty_table);
    check(amqp_get_rpc_reply(state_), "consume from queue " + queue);
  }

  void stop_consuming(const std::string& queue) {
    amqp_basic_cancel(state_, 1, bytes(queue));
    check(amqp_get_rpc_reply(state_), "stop consuming from queue " + queue);
  }

  /// Lets the broker confirm every message that is published on `channel`, once it has it safe.
  void want_confirmations(amqp_channel_t channel) {
    amqp_confirm_select(state_, channel);
    check(amqp_get_rpc_reply(state_), "ask for confirmations");
  }

  void publish(const std::string& exchange, const std::string& key, const Message& message,
               amqp_channel_t channel = 1) {
    pool_.clear();
    amqp_basic_properties_t properties = {};
    properties._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_CONTENT_ENCODING_FLAG | AMQP_BASIC_HEADERS_FLAG |
                        AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG | AMQP_BASIC_REPLY_TO_FLAG;
    properties.content_type = bytes(message.content_type);
    properties.content_encoding = bytes(message.content_encoding);
    properties.correlation_id = bytes(message.correlation_id);
    properties.reply_to = bytes(message.reply_to);
    properties.delivery_mode = message.persistent ? 2 : 1;
    properties.headers = to_table(message.headers, pool_);
    check(amqp_basic_publish(state_, channel, bytes(exchange), bytes(key), 0, 0, &properties, bytes_of(message.body)),
          "publish to " + key);
  }

  void acknowledge(std::uint64_t tag, bool and_all_before) {
    check(amqp_basic_ack(state_, 1, tag, and_all_before), "acknowledge a message");
  }

  /// The next thing that the broker sends; nothing if it sends nothing for so long. Throws Lost.
  std::optional<Event> next(std::chrono::microseconds timeout) {
    amqp_maybe_release_buffers(state_);
    const timeval wait = {static_cast<time_t>(timeout.count() / 1'000'000),
                          static_cast<suseconds_t>(timeout.count() % 1'000'000)};
    for (;;) {
      amqp_frame_t frame;
      const int status = amqp_simple_wait_frame_noblock(state_, &frame, &wait);
      if (status == AMQP_STATUS_TIMEOUT) return {};
      check(status, "wait for the broker");
      if (frame.frame_type != AMQP_FRAME_METHOD) continue;
      const amqp_method_t& method = frame.payload.method;
      switch (method.id) {
        case AMQP_BASIC_DELIVER_METHOD:
          return read(frame.channel, *static_cast<amqp_basic_deliver_t*>(method.decoded));
        case AMQP_BASIC_ACK_METHOD: {
          const auto* ack = static_cast<amqp_basic_ack_t*>(method.decoded);
          return Confirmed{frame.channel, ack->delivery_tag, ack->multiple != 0};
        }
        case AMQP_BASIC_NACK_METHOD:
          lost("the broker could not keep a message");
        case AMQP_BASIC_CANCEL_METHOD:
          lost("the queue was deleted");
        case AMQP_CHANNEL_CLOSE_METHOD:
          lost(text_of(static_cast<amqp_channel_close_t*>(method.decoded)->reply_text));
        case AMQP_CONNECTION_CLOSE_METHOD:
          lost(text_of(static_cast<amqp_connection_close_t*>(method.decoded)->reply_text));
        default:
          break;  // such as: publishers are blocked, since the broker's memory is full
      }
    }
  }

  /// To wait for this connection among others: poll() the socket, unless something was read already that poll() cannot
  /// see; then call next().
  int socket() const { return amqp_get_sockfd(state_); }
  bool has_read_ahead() const { return amqp_frames_enqueued(state_) || amqp_data_in_buffer(state_); }

 private:
  /// A short text of AMQP, whose length is one byte.
  static amqp_bytes_t bytes(std::string_view text) {
    if (text.size() > 255)
      throw std::invalid_argument("longer than the 255 bytes that AMQP allows: " + std::string(text));
    return bytes_of(text);
  }

  [[noreturn]] void lost(std::string_view why) {
    usable_ = false;
    throw Lost(std::string(why));
  }

  void check(int status, const std::string& what) {
    if (status != AMQP_STATUS_OK) lost(what + ": " + amqp_error_string2(status));
  }

  void check(const amqp_rpc_reply_t& reply, const std::string& what) {
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) {
      usable_ = true;
      return;
    }
    usable_ = false;
    if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION) check(reply.library_error, what);
    const bool channel_only = reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD;
    if (reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD || channel_only) {
      const auto* close = static_cast<amqp_connection_close_t*>(reply.reply.decoded);
      const auto* channel_close = static_cast<amqp_channel_close_t*>(reply.reply.decoded);
      const int code = channel_only ? channel_close->reply_code : close->reply_code;
      const std::string_view text = text_of(channel_only ? channel_close->reply_text : close->reply_text);
      if (code != AMQP_CONNECTION_FORCED) throw Refused(fmt::format("{}: {}", what, text));
    }
    lost(what + ": the broker closed the connection");
  }

  Delivery read(amqp_channel_t channel, const amqp_basic_deliver_t& deliver) {
    Delivery delivery = {
        deliver.delivery_tag, deliver.redelivered != 0, std::string(text_of(deliver.consumer_tag)), {}};
    amqp_message_t raw;
    check(amqp_read_message(state_, channel, &raw, 0), "read a message");
    const std::unique_ptr<amqp_message_t, decltype(&amqp_destroy_message)> owner(&raw, amqp_destroy_message);
    const amqp_basic_properties_t& properties = raw.properties;
    const auto text = [&](amqp_flags_t flag, const amqp_bytes_t& value) {
      return std::string(properties._flags & flag ? text_of(value) : std::string_view());
    };
    Message& message = delivery.message;
    message.body = text_of(raw.body);
    message.content_type = text(AMQP_BASIC_CONTENT_TYPE_FLAG, properties.content_type);
    message.content_encoding = text(AMQP_BASIC_CONTENT_ENCODING_FLAG, properties.content_encoding);
    message.correlation_id = text(AMQP_BASIC_CORRELATION_ID_FLAG, properties.correlation_id);
    message.reply_to = text(AMQP_BASIC_REPLY_TO_FLAG, properties.reply_to);
    if (properties._flags & AMQP_BASIC_HEADERS_FLAG) message.headers = to_json(properties.headers);
    message.persistent = properties._flags & AMQP_BASIC_DELIVERY_MODE_FLAG && properties.delivery_mode == 2;
    return delivery;
  }

  struct Destroy {
    void operator()(amqp_connection_state_t state) const { amqp_destroy_connection(state); }
  };
  std::unique_ptr<amqp_connection_state_t_, Destroy> owned_{amqp_new_connection()};
  amqp_connection_state_t state_ = owned_.get();
  Pool pool_;
  bool usable_ = false;
};

}  // namespace task_queue
