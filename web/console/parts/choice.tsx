import { SegmentedControl } from '@mantine/core'
import { onPress } from './on-press.ts'
import { t } from './t.ts'

/** One of a few, all of them seen. `ahead`: is called as one is pressed. */
export const Choice = <Code extends string>({
  name,
  value,
  options,
  onChange,
  ahead,
}: {
  name: string
  value: Code
  options: readonly (readonly [Code, string])[]
  onChange: (code: Code) => void
  ahead?: (code: Code) => void
}) => (
  <SegmentedControl
    size="xs"
    // A mark that slides is a frame of the whole page sixty times a second, beside what the choice asks for.
    transitionDuration={0}
    aria-label={name}
    value={value}
    onChange={code => onChange(code as Code)}
    data={options.map(([code, text]) => ({ value: code, label: t(text) }))}
    onPointerDown={onPress(
      ahead &&
        (at => {
          const code = at.closest('.mantine-SegmentedControl-control')?.querySelector('input')?.value
          if (code !== undefined && code !== value) ahead(code as Code)
        }),
    )}
  />
)
