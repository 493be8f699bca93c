import { SIGNING_SECRET } from '../../domain/integrations/config.ts'
import type { SignedIn } from '../../domain/operators/session.ts'
import type { OperationId } from '../../schemas/generated/operations.ts'
import { Problem } from '../errors.ts'

/** What an operator does only with a password or a code of the last ten minutes: a browser that was left open does none of it. */
const SENSITIVE: ReadonlySet<OperationId> = new Set([
  'v4RegenerateProjectSecret',
  'v4CreateApiKey',
  'v4RevokeApiKey',
  'v4UpdateStoreConfig',
  'v4DeleteCustomer',
])

/** The status that ends an experiment. */
const ENDING = 'finished'

const isEnding = (id: OperationId, body: unknown): boolean =>
  id === 'v4ChangeExperimentStatus' && (body as { status?: unknown } | null | undefined)?.status === ENDING

/** Whether it replaces the secret with which webhooks are signed. */
const isResigning = (id: OperationId, body: unknown): boolean =>
  id === 'v4UpdateIntegrationConfig' && Object.hasOwn((body as { settings?: object } | null | undefined)?.settings ?? {}, SIGNING_SECRET)

/** Throws 403 `sign_in_again` where somebody must first show that it is still them. */
export function assertRecent(id: OperationId, body: unknown, { isRecent }: Pick<SignedIn, 'isRecent'>): void {
  if (!isRecent && (SENSITIVE.has(id) || isEnding(id, body) || isResigning(id, body)))
    throw new Problem('sign_in_again', 'give your password or code once more: this is sensitive, and you have signed in some time ago')
}
