-- The database with two roles: fieldpost_owner for `manage.py migrate`, fieldpost_app for all others, which reads and
-- writes rows and cannot change or drop a table. Run once, as a superuser; compose.yaml does so for an empty volume:
--
--   FIELDPOST_OWNER_PASSWORD=… FIELDPOST_APP_PASSWORD=… psql --set ON_ERROR_STOP=1 --file postgresql-roles.sql postgres

\getenv owner_password FIELDPOST_OWNER_PASSWORD
\getenv app_password FIELDPOST_APP_PASSWORD

CREATE ROLE fieldpost_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE fieldpost_app LOGIN PASSWORD :'app_password';
CREATE DATABASE fieldpost OWNER fieldpost_owner;
REVOKE ALL ON DATABASE fieldpost FROM PUBLIC;
GRANT CONNECT ON DATABASE fieldpost TO fieldpost_app;

\connect fieldpost

GRANT USAGE ON SCHEMA public TO fieldpost_app;
-- For tables and sequences that migrations will make.
ALTER DEFAULT PRIVILEGES FOR ROLE fieldpost_owner IN SCHEMA public
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO fieldpost_app;
ALTER DEFAULT PRIVILEGES FOR ROLE fieldpost_owner IN SCHEMA public
  GRANT USAGE ON SEQUENCES TO fieldpost_app;
