import { appliedMigrations, newestOf } from '../store/schema-history.ts'
import { withDatabase } from './database.ts'
import { action } from './definition.ts'

/** Opening the database migrates it. */
export const migrateAction = action({
  name: 'migrate',
  summary: 'bring the database to this version, as the start of the service does',
  details: 'For a step of its own before new processes start. Any number of processes may migrate at once: one does, and the others wait.',
  examples: ['migrate'],
  async run(_, { env, out, note, signal }) {
    const history = await withDatabase({ env, signal }, appliedMigrations, note)
    out(`The database is at version ${newestOf(history)}, which is the one of this program.`)
    return 0
  },
})
