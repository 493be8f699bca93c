import { SegmentedControl } from '@mantine/core'
import { t } from './t.ts'

/** One of a few, all of them seen. */
export const Choice = <Code extends string>({
  name,
  value,
  options,
  onChange,
}: {
  name: string
  value: Code
  options: readonly (readonly [Code, string])[]
  onChange: (code: Code) => void
}) => (
  <SegmentedControl
    size="xs"
    aria-label={name}
    value={value}
    onChange={code => onChange(code as Code)}
    data={options.map(([code, text]) => ({ value: code, label: t(text) }))}
  />
)
