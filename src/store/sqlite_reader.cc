#include "store/sqlite_reader.h"

#include "store/sql_reader_body.h"
#include "store/sql_reader_flows.h"
#include "store/sql_reader_limits.h"

namespace ff::store {

template class SqlReader<StatementCache>;

}  // namespace ff::store
