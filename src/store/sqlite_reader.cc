#include "store/sqlite_reader.h"

#include "store/sql_reader_body.h"

namespace ff::store {

template class SqlReader<StatementCache>;

}  // namespace ff::store
