import { audit } from '../../../domain/kernel/audit/record.ts'
import { invalidFields, Refusal } from '../../../domain/kernel/refusal.ts'
import { actsForOperator, assertNotReplaced, assertOfProject } from '../../../domain/operators/principal.ts'
import { rotateSecretKey } from '../../../domain/projects/keys.ts'
import { getSettings, type ProjectSettings, updateSettings } from '../../../domain/projects/settings.ts'
import { emptyStoreConfig, findStoreConfig, STORE_CONFIG_PARTS, type StoreConfig } from '../../../domain/purchases/stores/config.ts'
import { updateStoreConfig } from '../../../domain/purchases/stores/update.ts'
import { validateStoreChange } from '../../../domain/purchases/stores/validate-credentials.ts'
import type { AnswerBody } from '../../../schemas/operation-types.ts'
import { inTransaction, NO_STORE, onPool } from '../../operation.ts'

const HEAD = { object: 'project_settings', url: '/v4/project-settings' } as const

type Settings = Awaited<ReturnType<typeof getSettings>>

const settings = ({ keys, project_name, proxy_url, rtdn_proxy_url }: Settings) => ({
  ...HEAD,
  project_name,
  access_token: keys.project,
  api_key: keys.api,
  secret_key: keys.secret,
  proxy_url,
  rtdn_proxy_url,
})

const withoutKeys = (shown: ProjectSettings) => ({ ...HEAD, ...shown, has_access_token: true, has_api_key: true, has_secret_key: true })

export const v4GetProjectSettings = onPool('v4GetProjectSettings', async ({ principal, project, db, deps }) => {
  const body = settings(await getSettings(db, deps.secrets, project))
  await assertNotReplaced(db, principal)
  return { body, headers: NO_STORE }
})

const notHttps = (value: string | null | undefined) => typeof value === 'string' && !URL.canParse(value)

export const v4UpdateProjectSettings = inTransaction(
  'v4UpdateProjectSettings',
  async ({ body, principal, project, trail, tx, deps }) => {
    assertOfProject(principal)
    const faulty = (['proxy_url', 'rtdn_proxy_url'] as const).filter(field => notHttps(body[field]))
    if (faulty.length > 0)
      throw invalidFields(faulty.map(field => ({ field, message: 'must be an https address such as https://example.org/hook' })))
    const { before, after, isChanged } = await updateSettings(tx, project, body)
    await assertNotReplaced(tx, principal)
    if (isChanged) {
      const entry = { resource: 'project_settings', id: null, before: withoutKeys(before), after: withoutKeys(after) }
      await audit(tx, { ...trail, environment: null }, entry)
    }
    return { body: settings(await getSettings(tx, deps.secrets, project)) }
  },
  NO_STORE,
)

export const v4RegenerateProjectSecret = inTransaction(
  'v4RegenerateProjectSecret',
  async ({ principal, project, trail, tx, deps }) => {
    if (principal.kind !== 'secret' && !actsForOperator(principal))
      throw new Refusal('control_forbidden', 'only the Secret Key replaces itself')
    assertOfProject(principal)
    const secret_key = await rotateSecretKey(tx, deps.secrets, project, principal.kind === 'secret' ? { by: principal.keyId } : {})
    if (actsForOperator(principal)) await assertNotReplaced(tx, principal)
    await audit(tx, { ...trail, environment: null }, { resource: 'project_settings', id: null })
    return { body: { ...HEAD, secret_key } }
  },
  NO_STORE,
)

const storeConfig = ({ platform, enabled, fields, secrets }: StoreConfig) =>
  ({
    object: 'store_config',
    url: `/v4/project-settings/stores/${platform}`,
    platform,
    enabled,
    ...Object.fromEntries(STORE_CONFIG_PARTS[platform].secrets.map(name => [`has_${name}`, name in secrets])),
    ...Object.fromEntries(STORE_CONFIG_PARTS[platform].fields.map(name => [name, fields[name] ?? null])),
  }) as AnswerBody<'v4GetStoreConfig'>

export const v4GetStoreConfig = onPool('v4GetStoreConfig', async ({ path: { platform }, principal, project, db }) => {
  const body = storeConfig((await findStoreConfig(db, project, platform)) ?? emptyStoreConfig(platform))
  await assertNotReplaced(db, principal)
  return { body, headers: NO_STORE }
})

export const v4UpdateStoreConfig = inTransaction(
  'v4UpdateStoreConfig',
  async ({ path: { platform }, body: { enabled, ...change }, principal, project, trail, tx, deps }) => {
    assertOfProject(principal)
    validateStoreChange(platform, change)
    if (enabled === false && !actsForOperator(principal))
      throw new Refusal('control_forbidden', 'a store is switched off through the MCP server and the console only')
    const { before, after, isChanged } = await updateStoreConfig(tx, { secrets: deps.secrets, project, platform }, change, enabled)
    await assertNotReplaced(tx, principal)
    const shown = storeConfig(after)
    if (isChanged) {
      const entry = { resource: 'store_config', id: platform, before: before && storeConfig(before), after: shown }
      await audit(tx, { ...trail, environment: null }, entry)
    }
    return { body: shown }
  },
  NO_STORE,
)
