import type { PointerEvent } from 'react'

/** For `onPointerDown`: the main button of a mouse is pressed. A finger may begin to scroll there. */
export const onPress = (then: ((at: Element) => void) | undefined) =>
  then && (({ button, pointerType, target }: PointerEvent) => void (button === 0 && pointerType === 'mouse' && then(target as Element)))
