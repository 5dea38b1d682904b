#include <ff/contracts.h>

#include <type_traits>
#include <variant>

namespace ff {

void detail::holds_something_else() { throw std::bad_variant_access(); }

std::string_view operation_name(const Request& request) {
    return ff::visit(
        [](const auto& operation) { return std::remove_cvref_t<decltype(operation)>::name; },
        request);
}

std::string Grant::partition_key() const {
    return PartitionKey{PartitionKey::Family::flow, execution_id.partition}.to_string();
}

}  // namespace ff
