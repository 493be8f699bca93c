// A service in a process of its own: says where its database is, and stops when told to by a signal. Run by the tests of this folder.
import process from 'node:process'
import pg from 'pg'
import { DataDirRefused, startEmbedded } from '../../store/embedded/start.ts'

const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
const dataDir = process.argv[2] ?? ''
try {
  const embedded = await startEmbedded({ dataDir, log: message => say({ log: message }) })
  const stop = async () => {
    // What a service does when it stops: it gives its leases back, and for that it needs the database.
    const client = new pg.Client(embedded.url)
    await client.connect()
    await client.query('select 1')
    await client.end()
    say({ released: true })
    await embedded.stop()
    say({ stopped: true })
    process.exit(0)
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  say({ url: embedded.url })
} catch (error) {
  if (!(error instanceof DataDirRefused)) throw error
  say({ refused: error.message })
  process.exit(1)
}
