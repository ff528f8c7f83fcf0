import {
  type CSSProperties,
  type PropsWithChildren,
  type SyntheticEvent,
  useCallback,
  useEffect,
  useState,
} from 'react'
import { createPortal } from 'react-dom'
import classes from './tip.module.css'

const GAP = 6
/** The space that a tip needs above its element. */
const HEIGHT = 40

/**
 * Describes an element while the pointer is over it, or while it has the keyboard focus. Mantine's tooltip does more,
 * but would make up a tenth of what each page loads before it's usable.
 */
export function Tip({ label, children }: PropsWithChildren<{ label: string }>) {
  const [place, setPlace] = useState<CSSProperties | null>(null)
  const show = ({ currentTarget }: SyntheticEvent) => {
    const element = currentTarget.firstElementChild
    if (element) setPlace(placeBeside(element.getBoundingClientRect()))
  }
  const hide = useCallback(() => setPlace(null), [])
  const isShown = place !== null
  useEffect(() => {
    if (!isShown) return
    const leave = new AbortController()
    const options = { capture: true, signal: leave.signal }
    addEventListener('scroll', hide, options)
    addEventListener('keydown', hide, options)
    return () => leave.abort()
  }, [isShown, hide])
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it hears events from the element inside it
    <span
      className={classes.target}
      onPointerEnter={show}
      onPointerLeave={hide}
      onFocus={event => event.target.matches(':focus-visible') && show(event)}
      onBlur={hide}
    >
      {children}
      {isShown &&
        createPortal(
          <div role="tooltip" className={classes.tip} style={place}>
            {label}
          </div>,
          document.body,
        )}
    </span>
  )
}

/** Above the element, or below it if there's no room above. The tip never extends past the window's nearer side. */
function placeBeside({ left, right, top, bottom }: DOMRect): CSSProperties {
  const vertical = top > HEIGHT ? { bottom: innerHeight - top + GAP } : { top: bottom + GAP }
  const middle = (left + right) / 2
  if (middle < innerWidth / 4) return { ...vertical, left }
  if (middle > (innerWidth * 3) / 4) return { ...vertical, right: innerWidth - right }
  return { ...vertical, left: middle, transform: 'translateX(-50%)' }
}
