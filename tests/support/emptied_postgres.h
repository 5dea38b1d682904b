// A store on PostgreSQL that is empty for every test, in tables that are used again and again:
// making them takes longer than most tests.
//
// For tests that have one such store at a time and change nothing but rows.
#pragma once

#include <unistd.h>

#include <string>

#include "support/postgres.h"

namespace ff::support {

/// Deletes every row that an engine has written, and begins numbers anew.
inline void empty_postgres_store(const std::string& schema) {
    run_on_postgres(
        "DO $$ DECLARE name text; BEGIN"
        " FOR name IN SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = '" +
        schema +
        "' AND tablename <> 'ff_schema_migration' LOOP"
        " EXECUTE 'DELETE FROM " +
        schema +
        ".' || name; END LOOP;"
        " FOR name IN SELECT quote_ident(sequencename) FROM pg_sequences WHERE schemaname = '" +
        schema + "' LOOP EXECUTE 'ALTER SEQUENCE " + schema +
        ".' || name || ' RESTART'; END LOOP;"
        " IF to_regclass('" +
        schema + ".ff_meta') IS NOT NULL THEN INSERT INTO " + schema +
        ".ff_meta (name, value) VALUES ('event_high', 0); END IF; END $$");
}

/// Only its own tables: those of other tests grow to thousands while a suite runs.
inline void vacuum_postgres_store(const std::string& schema) {
    const std::string tables = ask_postgres(
        "SELECT string_agg(quote_ident(schemaname) || '.' || quote_ident(tablename), ', ')"
        " FROM pg_tables WHERE schemaname = '" +
        schema + "'");
    if (!tables.empty()) {
        run_on_postgres("VACUUM (TRUNCATE FALSE) " + tables);
    }
}

/// The address of a store that is empty when a name is new.
inline std::string emptied_postgres_store(const std::string& name) {
    static std::string last;
    static int uses = 0;
    const std::string schema = "emptied_" + std::to_string(getpid());
    if (last != name) {
        last = name;
        run_on_postgres("CREATE SCHEMA IF NOT EXISTS " + schema);
        empty_postgres_store(schema);
        constexpr int uses_between_vacuums = 20;
        if (++uses % uses_between_vacuums == 0) {
            vacuum_postgres_store(schema);
        }
    }
    return postgres_address() + "&options=-csearch_path%3D" + schema;
}

}  // namespace ff::support
