import type { ComponentProps, CSSProperties } from 'react'
import classes from './table.module.css'

interface TableProps extends ComponentProps<'table'> {
  /** The space above and below each cell's content, in pixels. */
  verticalSpacing: number
}

const Root = ({ verticalSpacing, className = '', ...props }: TableProps) => (
  <table
    {...props}
    className={`${classes.table} ${className}`}
    style={{ '--spacing': `${verticalSpacing}px` } as CSSProperties}
  />
)

/**
 * A plain table. Mantine's table also loads a scroll area and the code that positions pop-ups, even if nothing uses
 * them.
 */
export const Table = Object.assign(Root, {
  Thead: 'thead',
  Tbody: 'tbody',
  Tr: 'tr',
  Th: 'th',
  Td: 'td',
} as const)
