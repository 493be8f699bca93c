import { expect, test } from 'vitest'
import { backup } from '../../cli/backup.ts'
import { importCsv } from '../../cli/import/command.ts'
import { project } from '../../cli/project.ts'
import { stores } from '../../cli/stores.ts'
import { call, start } from './call.ts'

test.concurrent.each([
  { args: [], code: 1, says: /which command\?\n\nUsage: npm run cli/ },
  { args: ['deploy'], code: 1, says: /there is no command "deploy"\n\nUsage/ },
  { args: ['exprt', '--help'], code: 1, says: /there is no command "exprt"/ },
  { args: ['help', 'bogus'], code: 1, says: /there is no command "bogus"/ },
  { args: ['projct'], code: 1, says: /there is no command "projct", did you mean project\?\n\nUsage/ },
  { args: ['import', '--key'], code: 1, says: /^perennial: .*'--key.*\nSee "help import"\.\n$/ },
  { args: ['project', 'list'], code: 1, says: /^perennial: DATABASE_URL needs APP_SECRET[^\n]*\n$/ },
])('a wrong call of $args is reported in one line and exit 1', async ({ args, code, says }) => {
  const result = await start(args, { DATABASE_URL: 'postgres://127.0.0.1:1/none' }).ended
  expect(result).toMatchObject({ code, out: '' })
  expect(result.notes).toMatch(says)
})

test.concurrent('help goes to standard output', async () => {
  const result = await start(['help', 'import']).ended
  expect(result).toMatchObject({ code: 0, notes: '' })
  expect(result.out).toContain('Templates: {column}')
})

test.concurrent('a database that is not there is reported in one line', async () => {
  const result = await start(['project', 'list'], {
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
    APP_SECRET: 'a secret for tests only, long enough',
  }).ended
  expect(result).toMatchObject({ code: 1, out: '', notes: expect.stringMatching(/^perennial: the database refuses the connection: .*\n$/) })
})

test.each([
  [project, ['create'], /--name NAME is missing/],
  [project, ['create', '--name', ' '], /--name NAME is missing/],
  [project, ['create', '--name', 'a\nb'], /printable/],
  [project, ['rotate'], /which project/],
  [project, ['rotate', '1x'], /"1x" is not a project id/],
  [project, ['rotate', '99999999999'], /is not a project id/],
  [project, ['rotate', '1', '2'], /too many arguments: 2/],
  [project, ['raw-data', '1'], /on or off/],
  [project, ['set', '1'], /--transfer-policy, --sandbox-access or --refund-preference/],
  [project, ['set', '1', '--transfer-policy', 'lend'], /keep, transfer or share/],
  [project, ['set', '--transfer-policy', 'keep'], /which project/],
  [project, ['drop'], /there is no command "project drop": create, list, rotate, raw-data or set\?/],
  [project, ['rotat'], /there is no command "project rotat", did you mean rotate\?/],
  [project, [], /which command\? project create, list, rotate, raw-data or set/],
  [project, ['rotate', '1', '--nwo'], /unknown option '--nwo', did you mean --now\?/],
  [stores, ['backfill', '1', 'apple', 'google'], /too many arguments: google/],
  [backup, [], /one folder is needed/],
  [backup, ['verify'], /one folder is needed/],
  [backup, ['./a', './b'], /too many arguments: \.\/b/],
  [importCsv, ['a.csv', '--key', 'sk_1'], /--map is missing/],
  [importCsv, ['a.csv', '--map', 'a=b'], /PERENNIAL_KEY is missing/],
  [importCsv, ['a.csv', '--map', 'a=b', '--key', 'pk 1'], /PERENNIAL_KEY must be a Secret Key/],
  [importCsv, ['none.csv', '--map', 'a=b', '--key', 'pnk_live_0Vb3'], /none\.csv cannot be read/],
  [importCsv, ['a.csv', '--map', 'a=b', '--key', 'sk_1', '--batch', '1001'], /--batch must be a whole number from 1 to 1000/],
  [importCsv, ['a.csv', '--map', 'a=b', '--key', 'sk_1', '--url', 'localhost'], /--url must be an address/],
  [importCsv, ['none.csv', '--map', 'a=b', '--key', 'sk_1'], /none\.csv cannot be read/],
])('%o %j is refused before anything is opened', async (command, args, says) => {
  const result = await call(command, args, { DATA_DIR: '/nonexistent/perennial' })
  expect(result).toMatchObject({ code: 1, out: '' })
  expect(result.notes).toMatch(says)
})
