import { readConfig } from '../../../app/config.ts'
import { missingParts } from '../../../domain/purchases/stores/config.ts'
import { openStore } from '../../../domain/purchases/stores/settings.ts'
import { quotaOf } from '../../../workflows/stores/quota.ts'
import { PROJECT, projectId } from '../../arguments.ts'
import type { CommandContext } from '../../command.ts'
import { action, type CommandInput } from '../../definition.ts'
import { CliError } from '../../failure.ts'
import { importFile } from '../../import/file.ts'
import { FILE_OPTIONS, fileOptions, oneFile } from '../../import/options.ts'
import { withProject, withStoreClients } from '../open.ts'
import { platformOf, STORE_ARGUMENT, STORE_NAME } from '../words.ts'
import { attachBatch } from './attach.ts'
import { POINTER_FIELDS } from './pointer.ts'

const OPTIONS = {
  ...FILE_OPTIONS,
  // Each row is a question: a state that is written seldom would ask many again.
  batch: { ...FILE_OPTIONS.batch, default: '10' },
  parallel: { ...FILE_OPTIONS.parallel, default: '4' },
  sandbox: { says: 'into the sandbox of the project, from the sandbox of the store' },
  'create-users': { says: 'make a user for each identity that there is none of' },
} as const

/**
 * Attaches the purchases that a file points to. The file names users and transactions; everything else the store is asked, so that no purchase is
 * recorded on a file's word.
 */
async function importPointers(
  { args: [given, store, file], values }: CommandInput<typeof OPTIONS>,
  context: CommandContext,
): Promise<number> {
  const project = projectId(given)
  const platform = platformOf(store)
  const path = oneFile(file, values.map)
  const options = await fileOptions(values, path)
  const config = readConfig(context.env)
  const kind = values.sandbox ? 'sandbox' : 'production'
  return withProject(context, project, async ({ pool, secrets, environments }) => {
    const settings = await openStore(pool, secrets, project, platform)
    if (settings === null || !settings.enabled)
      throw new CliError(`project ${project} has not set up ${STORE_NAME[platform]}, or has switched it off`)
    const missing = missingParts(platform, kind, settings.value)
    if (missing.length > 0) throw new CliError(`${STORE_NAME[platform]} cannot be asked: ${missing.join(', ')} is not stored`)
    return withStoreClients(config, async clients => {
      const client = clients[platform]
      if (!client) throw new CliError(`this version cannot ask ${STORE_NAME[platform]}`)
      const attaching = {
        pool,
        project,
        environment: environments[kind],
        kind,
        platform,
        store: settings,
        client,
        createUsers: values['create-users'],
      } as const
      const budget = { project, platform, environment: platform === 'google' ? null : kind } as const
      return importFile(
        options,
        {
          fields: POINTER_FIELDS,
          url: `${platform}, ${kind} of project ${project}`,
          key: String(environments[kind]),
          done: 'attached',
          post: (batch, signal, onWait) =>
            attachBatch(attaching, batch, { signal, onWait, quota: quotaOf(pool, budget, 'refresh', signal) }),
        },
        config.dataDir,
        context,
      )
    })
  })
}

const DETAILS = `The fields of MAP are user (id or identity) and transaction (transaction, order, purchase token, subscription).

What the store does not know is rejected: nothing is recorded on a file's word. Purchases of others stay theirs. Nothing that is imported starts
an automation. The same command continues an interrupted import.`

export const storesImport = action({
  name: 'import',
  summary: 'attach the purchases that the rows of a CSV file point to, as the store tells of them',
  arguments: [PROJECT, STORE_ARGUMENT, { name: 'FILE.csv', says: 'its first line names the columns' }],
  options: OPTIONS,
  details: DETAILS,
  exits: '0 all rows are attached, 1 stopped, 2 some rows were rejected',
  examples: ['stores import 1 apple transactions.csv --create-users --map user={user_id} --map transaction={transaction_id}'],
  run: importPointers,
})
