import './growth.css'
import { TextInput } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { DryRun } from '../../../../clients/typescript/src/index.ts'
import { useOne } from '../../data/write.ts'
import { Copy } from '../copy.tsx'
import { DataState } from '../data-state.tsx'
import { Drawer } from '../drawer.tsx'
import { Fault } from '../fault.tsx'
import { Send } from '../send.tsx'
import { counted, plain, t } from '../t.ts'

type Form = {
  id: string
  /** The thing, for readers. */
  what: string
  says: readonly string[]
  plan: UseQueryResult<DryRun, Error>
  act: string
  call: ReactNode
  /** Beside a refusal. */
  inTheWay?: ReactNode
  onDo: () => Promise<unknown>
}

/** What cannot be undone, in a drawer of its own. */
export const ForGood = ({ title, onClose, ...form }: Form & { title: string; onClose: () => void }) => (
  <Drawer title={title} onClose={onClose}>
    <ForGoodForm {...form} />
  </Drawer>
)

/**
 * What something does for good in words, what the service says that it would change, and the id typed. Where the service refuses the plan, what
 * is in the way stands there and nothing can be pressed.
 */
export function ForGoodForm({ id, what, says, plan, act, call, inTheWay, onDo }: Form) {
  const [typed, setTyped] = useState('')
  const [failed, setFailed] = useState<unknown>()
  const [isUnderWay, setUnderWay] = useState(false)
  const isReady = typed === id && plan.data !== undefined
  const send = useOne(async () => {
    setFailed(undefined)
    setUnderWay(true)
    try {
      await onDo()
    } catch (error) {
      setFailed(error)
    } finally {
      setUnderWay(false)
    }
  })
  return (
    <form
      className="form"
      onSubmit={event => {
        event.preventDefault()
        if (isReady) void send()
      }}
    >
      <ul className="growth-steps">
        {says.map(text => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      <DataState of={plan} rows={2}>
        {({ changes }) => <Plan changes={changes} />}
      </DataState>
      {plan.data === undefined && inTheWay}
      <div>
        <p className="form-label">{t('Type the id to do it')}</p>
        <Copy text={id} />
      </div>
      <TextInput
        aria-label={t('Id of the {what}', { what })}
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={({ currentTarget }) => setTyped(currentTarget.value.trim())}
      />
      {failed !== undefined && <Fault error={failed} />}
      <div className="form-actions">
        {call}
        <Send size="xs" className="button-danger" loading={isUnderWay} disabled={!isReady}>
          {act}
        </Send>
      </div>
    </form>
  )
}

/** What the service would change. */
const Plan = ({ changes }: { changes: DryRun['changes'] }) => (
  <div>
    <p className="form-label">{counted(changes.length, 'The service would change {n} thing', 'The service would change {n} things')}</p>
    <ul className="growth-plan">
      {changes.map(({ action, object, id }) => (
        <li key={`${action} ${object} ${id}`}>
          {plain(action)} {plain(object).toLowerCase()} <code>{id}</code>
        </li>
      ))}
    </ul>
  </div>
)
