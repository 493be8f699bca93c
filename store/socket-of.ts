import type { Socket } from 'node:net'
import type pg from 'pg'

/** The socket of a connection, which the driver keeps to itself. */
export const socketOf = (client: pg.ClientBase): Socket => (client as pg.ClientBase & { connection: { stream: Socket } }).connection.stream
