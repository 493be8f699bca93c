import type { Experiment } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useDenied } from '../../data/session.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Act } from '../../parts/act.tsx'
import { useKeys } from '../../parts/keys.ts'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say, sayWithUndo } from '../../parts/undo.tsx'

/** What one can do with the experiment as a whole: pause and go on at once, with a way back; what has none asks in a drawer. */
export function Actions({ of: { id, status } }: { of: Experiment }) {
  const [, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const open = (at: string) => set({ at }, { push: true })
  const path = { experiment_id: id }
  const { send, isPending } = useWrite('v4ChangeExperimentStatus', {
    changes: ['v4GetExperiment', 'v4ListExperiments', 'v4GetExperimentsSummary'],
  })
  const become = (to: 'active' | 'paused') => send({ path, body: { status: to } })
  const turn = useOne(() => {
    const isActive = status === 'active'
    return become(isActive ? 'paused' : 'active').then(
      () =>
        sayWithUndo(isActive ? t('It is paused: nobody new is taken in') : t('It goes on and takes new people in'), () =>
          become(isActive ? 'active' : 'paused'),
        ),
      (error: Error) => say(error.message),
    )
  })
  const isRunning = status === 'active' || status === 'paused'
  useKeys(denied === undefined && status !== 'finished' ? { e: { says: t('Edit the experiment'), run: () => open('edit') } } : {})
  return (
    <>
      <ShowTheCall name="v4GetExperiment" input={{ path }} />
      <Act denied={undefined} size="xs" variant="default" onClick={() => open('served')}>
        {t('What would somebody get?')}
      </Act>
      {!isRunning && (
        <Act denied={denied} size="xs" variant="default" onClick={() => open('delete')}>
          {t('Delete')}
        </Act>
      )}
      {isRunning && (
        <>
          <Act denied={denied} size="xs" variant="default" loading={isPending} onClick={() => void turn()}>
            {status === 'active' ? t('Pause') : t('Go on')}
          </Act>
          <Act denied={denied} size="xs" variant="default" onClick={() => open('end')}>
            {t('End')}
          </Act>
        </>
      )}
      {status !== 'finished' && (
        <Act denied={denied} size="xs" {...(status === 'draft' && { variant: 'default' as const })} onClick={() => open('edit')}>
          {t('Edit')}
        </Act>
      )}
      {status === 'draft' && (
        <Act denied={denied} size="xs" onClick={() => open('start')}>
          {t('Start')}
        </Act>
      )}
    </>
  )
}
