import { TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useAddress } from '../../data/address.ts'
import { askAgain } from '../../data/ask-again.ts'
import { useDryRun } from '../../data/dry-run.ts'
import { useWrite } from '../../data/write.ts'
import { Again } from '../../parts/again.tsx'
import { Copy } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { counted, plain, t } from '../../parts/t.ts'

/** Erases the person for good: after the password, with what the service says it would do, and the id typed. */
export function Erase({ id, onClose }: { id: string; onClose: () => void }) {
  const erasing = useWrite('v4DeleteCustomer', { changes: ['v4ListCustomers', 'v4GetCustomerMetrics'] })
  return (
    <Drawer title={t('Erase this customer')} onClose={onClose}>
      <Again error={erasing.error}>
        <Form id={id} erasing={erasing} />
      </Again>
    </Drawer>
  )
}

const GOES = [
  'the user, the identity and all properties',
  'purchases, access and events',
  'groups of experiments, screens that wait, runs under way',
  'the rows in stored files of exports, which are rewritten',
]

function Form({ id, erasing }: { id: string; erasing: ReturnType<typeof useWrite<'v4DeleteCustomer'>> }) {
  const [, set] = useAddress()
  const client = useQueryClient()
  const [typed, setTyped] = useState('')
  const input = { path: { customer_id: id } }
  const plan = useDryRun('v4DeleteCustomer', input)
  const { send, isPending, error } = erasing
  const erase = async () => {
    if (typed !== id) return
    try {
      await send(input)
      // First the address, so that the page never says that the id is wrong.
      set({ at: undefined, erased: 'yes' })
      await askAgain(client, ({ queryKey }) => queryKey[1] === 'v4GetCustomer')
    } catch {
      // It is shown as `error`.
    }
  }
  return (
    <form
      className="form"
      onSubmit={event => {
        event.preventDefault()
        void erase()
      }}
    >
      <p>{t('This cannot be undone. With the person go:')}</p>
      <ul className="erase-goes">
        {GOES.map(text => (
          <li key={text}>{t(text)}</li>
        ))}
      </ul>
      <p className="soft">{t('Figures lose their part, also of the past. A new purchase or event makes the person a new customer.')}</p>
      <DataState of={plan} rows={2}>
        {({ changes, truncated }) => (
          <div className="erase-plan">
            <p className="form-label">{t('The service would')}</p>
            <ul>
              {changes.map(({ action, object, id: what }) => (
                <li key={`${action} ${object} ${what}`}>
                  {plain(action)} {plain(object).toLowerCase()} <code>{what}</code>
                </li>
              ))}
            </ul>
            {truncated && <p className="soft">{counted(changes.length, 'and more than this {n}', 'and more than these {n}')}</p>}
          </div>
        )}
      </DataState>
      <div>
        <p className="form-label">{t('Type the id to erase the person')}</p>
        <Copy text={id} />
      </div>
      <TextInput
        aria-label={t('Id of the customer')}
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={({ currentTarget }) => setTyped(currentTarget.value.trim())}
      />
      {error && <Fault error={error} />}
      <div className="form-actions">
        <ShowTheCall name="v4DeleteCustomer" input={input} />
        <Send size="xs" className="button-danger" loading={isPending} disabled={typed !== id || plan.data === undefined}>
          {t('Erase for good')}
        </Send>
      </div>
    </form>
  )
}
