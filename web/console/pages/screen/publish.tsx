import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Screen } from '../../../../clients/typescript/src/index.ts'
import { useDryRun } from '../../data/dry-run.ts'
import { usePlace } from '../../data/place.ts'
import { keyOf, useRead } from '../../data/read.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Act } from '../../parts/act.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Difference } from '../../parts/difference.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useLook } from '../../parts/meanwhile.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'
import { UseName } from '../../parts/used-by.tsx'
import { layoutOf } from './holds.tsx'

/** Publishes a draft: what goes out, and how it differs from what apps are shown instead now. */
export default function Publish({ screen, denied, onClose }: { screen: Screen; denied: string | undefined; onClose: () => void }) {
  const input = { path: { screen_id: screen.id } }
  const isPublished = screen.status === 'published'
  const plan = useDryRun('v4PublishScreen', input, { when: denied === undefined && !isPublished })
  const { send, isPending } = useWrite('v4PublishScreen', { changes: ['v4GetScreen', 'v4ListScreens'] })
  const client = useQueryClient()
  const place = usePlace()
  const look = useLook('v4GetScreen', input)
  const [isNewer, setNewer] = useState(false)
  const [failed, setFailed] = useState<unknown>()
  const publish = useOne(async () => {
    setFailed(undefined)
    try {
      const now = await look()
      if (now.updated_at !== screen.updated_at || JSON.stringify(layoutOf(now as Screen)) !== JSON.stringify(layoutOf(screen))) {
        // It goes out as it is stored: first as it is by now, to be looked at.
        client.setQueryData(keyOf(place, 'v4GetScreen', input), now)
        return setNewer(true)
      }
      await send(input)
      say(t('The screen is published'))
      onClose()
    } catch (error) {
      setFailed(error)
    }
  })
  const context = screen.context_key === null ? null : <bdi className="screen-context">{screen.context_key}</bdi>
  const before = screen.in_context && screen.in_context.id !== screen.id ? screen.in_context : null
  return (
    <Drawer title={t('Publish this screen')} onClose={onClose}>
      <div className="form">
        {isPublished ? (
          <p>{t('It is published already.')}</p>
        ) : (
          <>
            <p>
              {context ? (
                <>
                  {t('From then on apps that ask for the context')} {context} {t('are shown this screen')}
                  {before ? (
                    <>
                      {' '}
                      {t('instead of')} <UseName of={{ object: 'screen', ...before }} />.
                    </>
                  ) : (
                    <>. {t('Nothing is published for that context yet.')}</>
                  )}
                </>
              ) : (
                t('It belongs to no context. From then on it is shown where an app or an automation names its id.')
              )}
            </p>
            <p className="soft">
              {t(
                'A published screen cannot become a draft again: it is replaced by another one of its context that is published later, or deleted.',
              )}
            </p>
          </>
        )}
        {before ? <Against screen={screen} id={before.id} /> : <GoesOut screen={screen} />}
        {plan.error && <Fault error={plan.error} retry={plan.refetch} />}
        {isNewer && (
          <div className="notice warn" role="alert">
            <Icon name="swap" size={15} />
            <div>{t('Somebody changed it in the meantime. Above is what goes out now: publish again if that is right.')}</div>
          </div>
        )}
        {failed !== undefined && <Fault error={failed} />}
        {denied && <p className="soft">{denied}</p>}
        <div className="form-actions">
          <ShowTheCall name="v4PublishScreen" input={input} />
          <Act
            denied={undefined}
            size="xs"
            loading={isPending}
            disabled={denied !== undefined || isPublished || plan.data === undefined}
            onClick={() => void publish()}
          >
            {t('Publish')}
          </Act>
        </div>
      </div>
    </Drawer>
  )
}

/** The layout beside that of the screen which apps are shown now. */
function Against({ screen, id }: { screen: Screen; id: string }) {
  const read = useRead('v4GetScreen', { path: { screen_id: id } })
  return (
    <section>
      <p className="form-label">{t('Against what is shown now')}</p>
      <DataState of={read}>
        {now => <Difference before={layoutOf(now as Screen)} after={layoutOf(screen)} none={t('Both hold the same.')} />}
      </DataState>
    </section>
  )
}

const GoesOut = ({ screen }: { screen: Screen }) => (
  <section>
    <p className="form-label">{t('What goes out')}</p>
    <Difference before={null} after={layoutOf(screen)} none="" />
  </section>
)
