// Views that spell out what the tables keep as small integers and raw bytes, for people with
// `sqlite3` or `psql`. Made from the enums of the product, so they cannot fall behind; recreated
// at every open whose version of the program differs.
#pragma once

#include <string>

#include "store/schema.h"

namespace ff::store {

/// Statements that drop and create every view.
std::string view_statements(Dialect dialect);

}  // namespace ff::store
