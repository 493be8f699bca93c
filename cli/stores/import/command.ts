import { parseArgs } from 'node:util'
import { readConfig } from '../../../app/config.ts'
import { missingParts } from '../../../domain/stores/config.ts'
import { openStore } from '../../../domain/stores/settings.ts'
import { quotaOf } from '../../../workflows/stores/quota.ts'
import { projectId } from '../../arguments.ts'
import type { CliCommand } from '../../command.ts'
import { CliError } from '../../failure.ts'
import { importFile } from '../../import/file.ts'
import { FILE_ARGUMENTS, fileOptions, oneFile } from '../../import/options.ts'
import { withProject, withStoreClients } from '../open.ts'
import { platformOf, STORE_NAME } from '../words.ts'
import { attachBatch } from './attach.ts'
import { POINTER_FIELDS } from './pointer.ts'

/**
 * Attaches the purchases that a file points to. The file names users and transactions; everything else the store is asked, so that no purchase is
 * recorded on a file's word.
 */
export const storesImport: CliCommand = async (args, context) => {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...FILE_ARGUMENTS,
      // Each row is a question: a state that is written seldom would ask many again.
      batch: { type: 'string', default: '10' },
      parallel: { type: 'string', default: '4' },
      sandbox: { type: 'boolean', default: false },
      'create-users': { type: 'boolean', default: false },
    },
  })
  const [given, store, ...paths] = positionals
  const project = projectId(given)
  const platform = platformOf(store)
  const path = oneFile(paths, values.map)
  const options = await fileOptions(values, path)
  const config = readConfig(context.env)
  const kind = values.sandbox ? 'sandbox' : 'production'
  return withProject(config, project, async ({ pool, secrets, environments }) => {
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
          post: (batch, signal, onWait) => attachBatch(attaching, batch, { signal, onWait, quota: quotaOf(pool, budget, 'lane', signal) }),
        },
        config.dataDir,
        context,
      )
    })
  })
}
