#include <ff/contracts.h>

#include <type_traits>
#include <variant>

namespace ff {

void detail::holds_something_else() { throw std::bad_variant_access(); }

std::string_view operation_name(const Request& request) {
    return ff::by_type([]<class Op>(std::type_identity<Op>) { return std::string_view(Op::name); },
                       request);
}

std::string Grant::partition_key() const {
    return PartitionKey{PartitionKey::Family::flow, execution_id.partition}.to_string();
}

}  // namespace ff
