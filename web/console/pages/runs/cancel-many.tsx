import { Button, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { askAgain } from '../../data/ask-again.ts'
import { addressOfCall, type OperationName } from '../../data/operations.ts'
import { usePlace } from '../../data/place.ts'
import { request } from '../../data/request.ts'
import { Drawer } from '../../parts/drawer.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { counted, t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'

type Progress = { done: number; refused: { id: string; why: string }[] }
const CHANGED: readonly OperationName[] = ['v4ListAllAutomationRuns', 'v4GetAutomationRun', 'v4ListAutomationRuns']

/** Cancels the chosen runs one after the other, after their number is typed. A run that has ended meanwhile refuses, and says so. */
export function CancelMany({ ids, onDone, onClose }: { ids: readonly string[]; onDone: () => void; onClose: () => void }) {
  const place = usePlace()
  const client = useQueryClient()
  const [typed, setTyped] = useState('')
  const [progress, setProgress] = useState<Progress>()
  const [isUnderWay, setUnderWay] = useState(false)
  // It goes on when it is closed, and says at the end what became of it.
  const isShown = useRef(true)
  useEffect(() => {
    isShown.current = true
    return () => {
      isShown.current = false
    }
  }, [])
  const isOver = progress !== undefined && !isUnderWay
  async function cancel() {
    if (isUnderWay || typed !== String(ids.length)) return
    setUnderWay(true)
    const refused: Progress['refused'] = []
    for (const [done, id] of ids.entries()) {
      setProgress({ done, refused })
      const address = addressOfCall(place!, 'v4CancelAutomationRun', { path: { run_id: id } })
      // Twice the same has no other effect than once.
      await request(address, { method: 'POST', key: crypto.randomUUID() }).catch((error: Error) => refused.push({ id, why: error.message }))
    }
    setProgress({ done: ids.length, refused })
    setUnderWay(false)
    if (!isShown.current) {
      const done = counted(ids.length - refused.length, '{n} run is cancelled.', '{n} runs are cancelled.')
      say(refused.length === 0 ? done : `${done} ${counted(refused.length, '{n} was refused.', '{n} were refused.')}`)
    }
    await askAgain(client, ({ queryKey }) => CHANGED.includes(queryKey[1] as OperationName))
  }
  const close = isOver ? onDone : onClose
  return (
    <Drawer title={counted(ids.length, 'Cancel {n} run', 'Cancel {n} runs')} onClose={close}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          void cancel()
        }}
      >
        <p>{t('Each ends where it is: no further step is done, and what its webhooks still had to deliver is not sent.')}</p>
        <p className="soft">
          {t('This cannot be undone. An effect that is under way may still arrive. A run that has ended can be run again.')}
        </p>
        {!isOver && (
          <TextInput
            label={t('Type {n} to cancel them', { n: ids.length })}
            autoComplete="off"
            inputMode="numeric"
            value={typed}
            disabled={isUnderWay}
            onChange={({ currentTarget }) => setTyped(currentTarget.value.trim())}
          />
        )}
        {progress && (
          <p role="status">
            {isOver
              ? counted(progress.done - progress.refused.length, '{n} run is cancelled.', '{n} runs are cancelled.')
              : t('{done} of {all} …', { done: progress.done, all: ids.length })}
          </p>
        )}
        {isOver && progress.refused.length > 0 && (
          <div className="notice warn">
            <Icon name="warn" />
            <ul>
              {progress.refused.map(({ id, why }) => (
                <li key={id}>
                  <code>{id}</code>: {why}
                </li>
              ))}
            </ul>
          </div>
        )}
        <div className="form-actions">
          {isOver ? (
            <Button size="xs" onClick={onDone}>
              {t('Done')}
            </Button>
          ) : (
            <>
              <ShowTheCall name="v4CancelAutomationRun" input={{ path: { run_id: ids[0]! } }} />
              <Send size="xs" className="button-danger" loading={isUnderWay} disabled={typed !== String(ids.length)}>
                {counted(ids.length, 'Cancel {n} run', 'Cancel {n} runs')}
              </Send>
            </>
          )}
        </div>
      </form>
    </Drawer>
  )
}
