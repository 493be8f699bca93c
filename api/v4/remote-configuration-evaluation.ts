import { evaluate } from '../../domain/remote-configurations/evaluate.ts'
import { onPool } from '../operation.ts'
import { fullList } from '../pagination.ts'

export const v4EvaluateUserRemoteConfigurations = onPool(
  'v4EvaluateUserRemoteConfigurations',
  async ({ path: { user_id }, body, environment, deps }) => {
    const { context_keys: keys, attributes: overrides = {}, dry_run: dryRun } = body ?? {}
    // Planning its two statements takes twice as long as running them.
    const served = await evaluate(deps.listing, environment, user_id, { keys, overrides, dryRun: dryRun ?? false })
    return {
      body: fullList(
        `/v4/users/${user_id}/remote-configurations`,
        served.map(({ context_key, payload, source, experiment }) => ({
          object: 'user_remote_configuration' as const,
          context_key,
          payload,
          source,
          experiment,
        })),
      ),
    }
  },
)
