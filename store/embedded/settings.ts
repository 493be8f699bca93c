/** What the server is started with. Durability (fsync, synchronous_commit, full_page_writes) stays as Postgres has it: on. */
export const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '', // a socket's path may have 107 bytes, a DATA_DIR more
  max_connections: '300', // a service under load has some 50 open, and several may be on one folder
  shared_buffers: '128MB',
  max_wal_size: '2GB',
  wal_compression: 'on',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // A new file every 10 MB; the services remove the oldest (logs.ts).
  logging_collector: 'on',
  log_directory: 'log',
  log_filename: 'postgres-%Y-%m-%d_%H%M%S.log',
  log_rotation_size: '10MB',
  log_rotation_age: '0',
}
