import { TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useDryRun } from '../data/dry-run.ts'
import type { Input, OperationName } from '../data/operations.ts'
import { useWrite } from '../data/write.ts'
import { Copy } from './copy.tsx'
import { DataState } from './data-state.tsx'
import { Fault } from './fault.tsx'
import { Send } from './send.tsx'
import { ShowTheCall } from './show-the-call.tsx'
import { counted, plain, t } from './t.ts'
import { HeldBy, type Uses } from './used-by.tsx'

type Props<Name extends OperationName> = {
  operation: Name
  input: Input<Name>
  id: string
  denied: string | undefined
  /** The reads that have it. */
  changes: readonly OperationName[]
  /** What goes with it. */
  children: ReactNode
  /** What of it prevents the deletion stands below a refusal, with ways to it. */
  of: Uses
  onDone: () => void
}

/** Deletes an object after its id is typed. A refusal is told before, by what the service says that it would do, with what uses the object. */
export function DeleteForm<Name extends OperationName>({ operation, input, id, denied, changes, children, of, onDone }: Props<Name>) {
  const [typed, setTyped] = useState('')
  const plan = useDryRun(operation, input, { when: denied === undefined })
  const { send, isPending, error } = useWrite(operation, { changes })
  const isRefused = plan.error?.status === 409 || error?.status === 409
  const remove = async () => {
    if (typed !== id || denied !== undefined) return
    await send(input)
    onDone()
  }
  return (
    <form
      className="form"
      onSubmit={event => {
        event.preventDefault()
        // It is shown as `error`.
        void remove().catch(() => {})
      }}
    >
      {children}
      {denied === undefined && (
        <DataState of={plan} rows={2}>
          {({ changes: planned }) => (
            <p className="soft">
              {counted(planned.length, 'The service would change {n} thing', 'The service would change {n} things')}:{' '}
              {planned.map(({ action, object }) => `${plain(action)} ${plain(object).toLowerCase()}`).join(', ')}
            </p>
          )}
        </DataState>
      )}
      {isRefused && <HeldBy of={of} />}
      {!isRefused && (
        <>
          <div>
            <p className="form-label">{t('Type the id to delete it')}</p>
            <Copy text={id} />
          </div>
          <TextInput
            aria-label={t('Its id')}
            autoComplete="off"
            spellCheck={false}
            value={typed}
            onChange={({ currentTarget }) => setTyped(currentTarget.value.trim())}
          />
        </>
      )}
      {error && error.status !== plan.error?.status && <Fault error={error} />}
      {denied && <p className="soft">{denied}</p>}
      <div className="form-actions">
        <ShowTheCall name={operation} input={input} />
        {!isRefused && (
          <Send
            size="xs"
            className="button-danger"
            loading={isPending}
            disabled={typed !== id || plan.data === undefined || denied !== undefined}
          >
            {t('Delete for good')}
          </Send>
        )}
      </div>
    </form>
  )
}
