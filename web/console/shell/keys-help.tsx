import { Kbd, Modal } from '@mantine/core'
import { useState } from 'react'
import { useShownKeys } from '../parts/keys.ts'
import { t } from '../parts/t.ts'

const OF_CHARTS: readonly [string, string][] = [
  ['← →', 'Earlier or later point of a chart'],
  ['↑ ↓', 'Other series of a chart'],
  ['Enter', 'The facts behind a point'],
  ['Esc', 'Close a drawer, leave a point'],
]

/** The keys that act on the page now. */
export default function KeysHelp({ onClose }: { onClose: () => void }) {
  // The keys of the page, not of this window.
  const [layers] = useState(useShownKeys())
  const own = layers.flatMap(keys => Object.entries(keys).map(([key, { says }]) => [key.replace('mod+k', 'Ctrl K'), says] as const))
  const seen = new Map([...own, ...OF_CHARTS])
  return (
    <Modal
      opened
      closeOnClickOutside
      onClose={onClose}
      title={t('Keys')}
      size="lg"
      lockScroll={false}
      closeButtonProps={{ 'aria-label': t('Close') }}
    >
      <dl className="keys">
        {[...seen].map(([key, says]) => (
          <div key={key}>
            <dt>{says}</dt>
            <dd>
              {key.split(' ').map(part => (
                <Kbd key={part}>{part}</Kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Modal>
  )
}
