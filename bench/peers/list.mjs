import pg from 'pg'

/** The plain implementation: one prepared statement on a pool as large as the product's. */
const PLAIN = `select id, name, user_id, happened_at from events where environment = $1 order by happened_at desc, id desc limit 20 offset $2`

// STATEMENT: another statement with the same parameters and columns. It separates the cost of a server from the cost of the statement.
const TEXT = process.env.STATEMENT ?? PLAIN

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })

export const listEvents = async (environment, offset) => {
  const { rows } = await pool.query({ name: 'list-events', text: TEXT, values: [environment, offset] })
  return rows
}

export const ready = server => console.log(`ready on port ${server.address().port}`)
