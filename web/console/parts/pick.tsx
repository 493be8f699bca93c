import { type ComponentPropsWithRef, lazy, Suspense, useState } from 'react'
import { Icon, type IconName } from './icon.tsx'

export type Option = { code: string; label: string; group?: string }

/** What is seen of it while it is closed. */
type Face = {
  /** What is chosen here, for readers: "Split by". */
  name: string
  /** What the button says: usually what is chosen. */
  text: string
  icon?: IconName | undefined
  on?: boolean | undefined
  dashed?: boolean | undefined
  /** The field that `/` goes to. */
  isFilter?: boolean | undefined
}

export type PickProps = Face & {
  options: readonly Option[]
  chosen: readonly string[]
  onPick: (code: string) => void
  /** Is called as an option is pressed. */
  ahead?: (code: string) => void
  /** Stays open, so that several can be chosen. */
  several?: boolean
  /** What is typed may be chosen although it is no option. */
  free?: boolean
  /** The options are being read: until they have come, what is typed may be the name of one and is no choice. */
  reading?: boolean
  /** How that is called, where it is called otherwise than it is typed. */
  typedAs?: (typed: string) => string
  wide?: boolean
  onOpen?: () => void
  opensAtOnce?: boolean
  onClose?: () => void
}

const load = () => import('./pick-list.tsx')
const PickList = lazy(load)

/** A button with a list of options below it, which is searched by typing. Arrows and Enter choose, Esc closes. The list is loaded for it. */
export function Pick(props: PickProps) {
  const [wanted, setWanted] = useState(props.opensAtOnce === true)
  const button = (
    <PickButton
      {...faceOf(props)}
      opened={false}
      onPointerEnter={load}
      onFocus={load}
      onClick={() => {
        setWanted(true)
        props.onOpen?.()
      }}
    />
  )
  return wanted ? (
    <Suspense fallback={button}>
      <PickList {...props} />
    </Suspense>
  ) : (
    button
  )
}

export const faceOf = ({ name, text, icon, on, dashed, isFilter }: PickProps): Face => ({ name, text, icon, on, dashed, isFilter })

type ButtonProps = Face & { opened: boolean } & Omit<ComponentPropsWithRef<'button'>, 'name'>

/** `rest`: what the list gives its target. */
export function PickButton({ name, text, icon, on, dashed, isFilter, opened, ...rest }: ButtonProps) {
  return (
    <button
      {...rest}
      type="button"
      className={['chip', on && 'on', dashed && 'dashed'].filter(Boolean).join(' ')}
      aria-haspopup="listbox"
      aria-expanded={opened}
      // *Esc* closes the list, and not the window that it is in.
      data-mantine-stop-propagation={opened || undefined}
      aria-label={text === name ? name : `${name}: ${text}`}
      title={text.length > 40 ? text : undefined}
      data-filter={isFilter}
    >
      {icon && <Icon name={icon} size={14} />}
      <span className="chip-text">{text}</span>
      <Icon name="fold" size={12} />
    </button>
  )
}
