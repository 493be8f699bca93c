import { Button, Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useDryRun } from '../../data/dry-run.ts'
import type { Input } from '../../data/operations.ts'
import { useWrite } from '../../data/write.ts'
import { Copy } from '../../parts/copy.tsx'
import { Bars } from '../../parts/data-state.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'
import { HeldBy, type Uses } from '../../parts/used-by.tsx'
import { countText } from './words.ts'

type Count = { count: number; has_more: boolean }
type Operation = 'v4DeleteProduct' | 'v4DeleteOffering' | 'v4DeleteEntitlement'
const CHANGES = ['v4ListProducts', 'v4ListOfferings', 'v4ListEntitlements', 'v4ListUnmappedProducts'] as const

/** Deletes it after its id is typed: with what the service would change, or what it refuses and because of what. */
export default function Delete<Name extends Operation>({
  operation,
  input,
  id,
  of,
  what,
  onDone,
  onClose,
}: {
  operation: Name
  input: Input<Name>
  id: string
  of: Uses & { active_purchases?: Count; active_grants?: Count }
  what: string
  onDone: () => void
  onClose: () => void
}) {
  const [typed, setTyped] = useState('')
  const plan = useDryRun(operation, input)
  const { send, isPending, error } = useWrite(operation, { changes: CHANGES })
  const remove = async () => {
    if (typed !== id || plan.data === undefined) return
    try {
      await send(input)
      say(t('{id} is deleted', { id }))
      onDone()
    } catch {
      // It is shown as `error`.
    }
  }
  return (
    <Modal opened onClose={onClose} title={t('Delete {id}', { id })} closeButtonProps={{ 'aria-label': t('Close') }} lockScroll={false}>
      <form
        className="form catalogue-form"
        onSubmit={event => {
          event.preventDefault()
          void remove()
        }}
      >
        <p>{what}</p>
        {plan.isPending && <Bars rows={2} />}
        {plan.error && <Fault error={plan.error} retry={plan.refetch} />}
        {plan.error?.status === 409 && (
          <div className="catalogue-holds">
            <Holds of={of.active_purchases} one="{n} purchase gives access by it now." many="{n} purchases give access by it now." />
            <Holds of={of.active_grants} one="{n} person has it by hand." many="{n} people have it by hand." />
            <HeldBy of={of} />
          </div>
        )}
        {plan.data && (
          <div>
            <p className="form-label">
              {counted(plan.data.changes.length, 'The service would change {n} thing', 'The service would change {n} things')}
            </p>
            <ul className="catalogue-plan">
              {plan.data.changes.map(({ action, object, id: changed }) => (
                <li key={`${action} ${object} ${changed}`}>
                  {plain(action)} {plain(object).toLowerCase()} <code>{changed}</code>
                </li>
              ))}
            </ul>
          </div>
        )}
        {plan.data && (
          <div>
            <p className="form-label">{t('Type the id to delete it')}</p>
            <Copy text={id} />
          </div>
        )}
        {plan.data && (
          <TextInput
            aria-label={t('Id of what is deleted')}
            autoComplete="off"
            spellCheck={false}
            data-autofocus
            value={typed}
            onChange={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        )}
        {error && <Fault error={error} />}
        <div className="form-actions">
          <ShowTheCall name={operation} input={input} />
          <Button variant="default" size="xs" onClick={onClose}>
            {t('Cancel')}
          </Button>
          <Send size="xs" className="button-danger" loading={isPending} disabled={typed !== id || plan.data === undefined}>
            {t('Delete it')}
          </Send>
        </div>
      </form>
    </Modal>
  )
}

const Holds = ({ of, one, many }: { of: Count | undefined; one: string; many: string }) =>
  of !== undefined && of.count > 0 ? (
    <p className="catalogue-plan">{t(of.count === 1 && !of.has_more ? one : many, { n: countText(of) })}</p>
  ) : null
