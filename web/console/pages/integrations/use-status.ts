import type { Integration } from '../../../../clients/typescript/src/index.ts'
import { useWrite } from '../../data/write.ts'
import { t } from '../../parts/t.ts'
import { say, sayWithUndo } from '../../parts/undo.tsx'

/** Starts and pauses an integration; what was active before is active again by *Undo*. */
export function useStatus({ id, title, active }: Pick<Integration, 'id' | 'title' | 'active'>) {
  const { send, isPending, error } = useWrite('v4UpdateIntegrationStatus', {
    changes: ['v4ListIntegrations', 'v4ListIntegrationDeliveries', 'v4GetIntegrationDelivery'],
  })
  const become = (status: 0 | 1) => send({ path: { integration_id: id }, body: { status } })
  const start = () =>
    void become(1).then(
      () => (active === 0 ? sayWithUndo(t('{title} is started', { title }), () => become(0)) : say(t('{title} is started', { title }))),
      () => {},
    )
  const pause = () =>
    void become(0).then(
      () =>
        active === 1
          ? sayWithUndo(t('{title} is paused: what comes is held', { title }), () => become(1))
          : say(t('{title} is paused', { title })),
      () => {},
    )
  return { start, pause, isPending, error }
}
