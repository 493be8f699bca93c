import { type ComponentProps, lazy, Suspense, useRef, useState } from 'react'
import { usePlace } from '../data/place.ts'
import { useDenied } from '../data/session.ts'
import { Act } from './act.tsx'
import { Icon } from './icon.tsx'
import type MakeSegment from './make-segment.tsx'
import { t } from './t.ts'

const Form = lazy(() => import('./make-segment.tsx'))

type Props = Omit<ComponentProps<typeof MakeSegment>, 'onClose'>

/** *Make a segment* of the people behind a number. Those of another number are another segment, with another name. */
export function SegmentOf(props: Props) {
  const denied = useDenied('editor', usePlace()?.project)
  const [isOpen, setOpen] = useState(false)
  const place = useRef<HTMLDivElement>(null)
  const close = () => {
    setOpen(false)
    requestAnimationFrame(() => place.current?.querySelector('button')?.focus())
  }
  return (
    <div className="segment-of" ref={place}>
      {isOpen && denied === undefined ? (
        <Suspense fallback={null}>
          <Form key={JSON.stringify([props.input, props.side])} {...props} onClose={close} />
        </Suspense>
      ) : (
        <Act
          denied={denied}
          size="compact-sm"
          variant="default"
          leftSection={<Icon name="segment" size={13} />}
          onClick={() => setOpen(true)}
        >
          {t('Make a segment')}
        </Act>
      )}
    </div>
  )
}
