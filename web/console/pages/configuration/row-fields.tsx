import { NativeSelect, Textarea, TextInput } from '@mantine/core'
import { usePages } from '../../data/read.ts'
import { Icon } from '../../parts/icon.tsx'
import { type Option, Pick } from '../../parts/pick.tsx'
import { t } from '../../parts/t.ts'
import { type PayloadType, type Row, readOf, TYPES, withType } from './payload.ts'

/** What a field of colours shows of what it cannot. */
const BLACK = `#${'0'.repeat(6)}`

/** A hex code as the field of colours takes it: `#fed` is `#ffeedd`. */
function sixDigits(typed: string): string {
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(typed)
  if (short)
    return `#${short
      .slice(1)
      .map(digit => digit + digit)
      .join('')}`
  return /^#[0-9a-f]{6}$/i.test(typed) ? typed : BLACK
}

type Props = {
  row: Row
  faults: { key?: string; value?: string }
  onChange: (row: Row) => void
  onRemove: () => void
}

/** A key of the payload: its name, its type and its value, by the type. */
export function RowFields({ row, faults, onChange, onRemove }: Props) {
  const name = row.key === '' ? t('the new key') : row.key
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out in columns everywhere
    <div className="payload-row" role="group" aria-label={name}>
      <TextInput
        size="xs"
        aria-label={t('Key')}
        placeholder={t('key')}
        value={row.key}
        error={faults.key}
        maxLength={1_000}
        spellCheck={false}
        onChange={({ currentTarget: { value } }) => onChange({ ...row, key: value })}
      />
      <NativeSelect
        size="xs"
        aria-label={t('Type')}
        data={Object.entries(TYPES).map(([value, label]) => ({ value, label: t(label) }))}
        value={row.type}
        onChange={({ currentTarget: { value } }) => onChange(withType(row, value as PayloadType))}
      />
      <div className="payload-value">
        <Field row={row} fault={faults.value} type={typed => onChange({ ...row, typed })} />
      </div>
      <button type="button" className="icon-button" aria-label={t('Take {key} out', { key: name })} onClick={onRemove}>
        <Icon name="close" size={14} />
      </button>
    </div>
  )
}

function Field({ row, fault, type }: { row: Row; fault: string | undefined; type: (typed: string) => void }) {
  const common = { size: 'xs', 'aria-label': t('Value'), value: row.typed, error: fault } as const
  switch (row.type) {
    case 'String':
      return (
        <Textarea
          {...common}
          rows={Math.min(8, row.typed.split('\n').length + Math.floor(row.typed.length / 90))}
          onChange={({ currentTarget }) => type(currentTarget.value)}
        />
      )
    case 'Number':
      return <TextInput {...common} inputMode="decimal" onChange={({ currentTarget }) => type(currentTarget.value)} />
    case 'Bool':
      return (
        <NativeSelect
          size="xs"
          aria-label={t('Value')}
          data={[
            { value: 'true', label: t('yes') },
            { value: 'false', label: t('no') },
          ]}
          value={row.typed}
          onChange={({ currentTarget }) => type(currentTarget.value)}
        />
      )
    case 'Color':
      return (
        <div className="payload-color-field">
          <input
            type="color"
            aria-label={t('Choose the colour')}
            value={sixDigits(row.typed)}
            onChange={({ currentTarget }) => type(currentTarget.value)}
          />
          <TextInput
            {...common}
            className="grow"
            placeholder={t('hex code')}
            spellCheck={false}
            onChange={({ currentTarget }) => type(currentTarget.value)}
          />
        </div>
      )
    case 'Products':
    case 'Screens':
      return <Ids row={row} fault={fault} type={type} />
    default:
      return (
        <Textarea
          {...common}
          classNames={{ input: 'payload-code' }}
          rows={Math.min(14, row.typed.split('\n').length + 1)}
          spellCheck={false}
          onChange={({ currentTarget }) => type(currentTarget.value)}
        />
      )
  }
}

/** Products or screens by name; a single id stays one where only one is chosen. */
function Ids({ row, fault, type }: { row: Row; fault: string | undefined; type: (typed: string) => void }) {
  const read = readOf(row)
  const value = 'value' in read ? read.value : []
  const ids = Array.isArray(value) ? (value as string[]) : [String(value)]
  const products = usePages('v4ListProducts', { query: { limit: 100 } }, { when: row.type === 'Products' })
  const screens = usePages('v4ListScreens', { query: { limit: 100 } }, { when: row.type === 'Screens' })
  const options: Option[] =
    row.type === 'Products'
      ? (products.data ?? []).map(({ id }) => ({ code: id, label: id }))
      : (screens.data ?? []).map(({ id, name }) => ({ code: id, label: name }))
  const pick = (code: string) => {
    const chosen = ids.includes(code) ? ids.filter(id => id !== code) : [...ids, code]
    type(JSON.stringify(typeof value === 'string' && chosen.length === 1 ? chosen[0] : chosen))
  }
  const nameOf = (id: string) => options.find(({ code }) => code === id)?.label ?? id
  return (
    <div className="payload-ids">
      {ids.map(id => (
        <button
          key={id}
          type="button"
          className="chip small on"
          aria-label={t('Take {key} out', { key: nameOf(id) })}
          onClick={() => pick(id)}
        >
          <span className="chip-text" title={nameOf(id)}>
            {nameOf(id)}
          </span>
          <Icon name="close" size={12} />
        </button>
      ))}
      <Pick
        name={row.type === 'Products' ? t('Add products') : t('Add screens')}
        text={row.type === 'Products' ? t('Add products') : t('Add screens')}
        options={options}
        chosen={ids}
        several
        free
        reading={products.isLoading || screens.isLoading}
        dashed
        onPick={pick}
      />
      {fault && <p className="growth-fault">{fault}</p>}
    </div>
  )
}
