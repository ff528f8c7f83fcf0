import { type ReactNode, useState } from 'react'
import classes from './docs.module.css'

interface UnfoldingProps {
  title: ReactNode
  children: () => ReactNode
}

/** A section that renders its content only once it's opened, because schemas can be recursive. */
export function Unfolding({ title, children }: UnfoldingProps) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <details className={classes.unfolding} onToggle={event => setIsOpen(event.currentTarget.open)}>
      <summary className={classes.title}>{title}</summary>
      {isOpen && children()}
    </details>
  )
}
