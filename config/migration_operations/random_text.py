"""A default of a column that the database makes: 32 random characters of `0-9a-f`, another text for each row."""

from typing import Any

from django.db.models import CharField, Func


class RandomText(Func):
    """For `db_default` of a unique text, so that code of another release, which does not know the column, inserts."""

    arity = 0
    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="lower(hex(randomblob(16)))", **context)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="replace(gen_random_uuid()::text, '-', '')", **context)
