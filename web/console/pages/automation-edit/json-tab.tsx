import { useState } from 'react'
import { Card } from '../../parts/card.tsx'
import { t } from '../../parts/t.ts'
import type { Draft } from './draft.ts'

/** The same as JSON. What is no JSON yet stays typed, and is not saved. */
export default function JsonTab({
  draft,
  onChange,
  onBroken,
}: {
  draft: Draft
  onChange: (draft: Draft) => void
  onBroken: (isBroken: boolean) => void
}) {
  const [text, setText] = useState(() => JSON.stringify(draft, undefined, 2))
  const [fault, setFault] = useState<string>()
  const type = (typed: string) => {
    setText(typed)
    try {
      const parsed: unknown = JSON.parse(typed)
      if (!isDraft(parsed)) throw new Error(t('It must be an object with name, status and data.'))
      setFault(undefined)
      onBroken(false)
      onChange(parsed)
    } catch (error) {
      setFault((error as Error).message)
      onBroken(true)
    }
  }
  return (
    <Card title={t('JSON')} right={t('as the API takes it')}>
      <div className="long-text edit-json">
        <textarea
          aria-label={t('JSON')}
          rows={Math.min(40, Math.max(18, text.split('\n').length + 1))}
          spellCheck={false}
          value={text}
          aria-invalid={fault !== undefined}
          data-path="data"
          onChange={({ currentTarget }) => type(currentTarget.value)}
        />
        {fault && <p className="field-fault">{fault}</p>}
      </div>
    </Card>
  )
}

const isDraft = (value: unknown): value is Draft => {
  const { name, status, data } = (value ?? {}) as Partial<Draft>
  const { steps, initiators } = (data ?? {}) as Partial<Draft['data']>
  const isList = (of: unknown) => of === undefined || Array.isArray(of)
  return (
    typeof name === 'string' &&
    typeof status === 'string' &&
    typeof data === 'object' &&
    data !== null &&
    isList(steps) &&
    isList(initiators)
  )
}
