import { listProjects } from '../../domain/projects/settings.ts'
import { withDatabase } from '../database.ts'
import { action, JSON_OPTION } from '../definition.ts'
import { jsonText, textTable } from '../table.ts'

const HEADERS = ['id', 'name', 'created', 'raw data', 'production users', 'last production event', 'sandbox users', 'last sandbox event']

export const listAction = action({
  name: 'list',
  summary: 'all projects; users and last event of production, and of the sandbox',
  options: JSON_OPTION,
  examples: ['project list', 'project list --json'],
  async run({ values }, { env, signal, out }) {
    const projects = await withDatabase({ env, signal }, pool => listProjects(pool))
    if (values.json) {
      out(jsonText(projects))
      return 0
    }
    const rows = projects.map(({ id, name, created_at, raw_data, production, sandbox }) => [
      String(id),
      name,
      created_at,
      raw_data ? 'on' : 'off',
      String(production.users),
      production.last_event_at ?? '-',
      String(sandbox.users),
      sandbox.last_event_at ?? '-',
    ])
    for (const line of textTable(HEADERS, rows, ['id', 'production users', 'sandbox users'])) out(line)
    return 0
  },
})
