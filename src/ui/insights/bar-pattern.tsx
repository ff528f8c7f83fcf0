import { barColor } from './line-style.ts'

/** A bar's pattern, so that color isn't the only difference between reviewers. */
export function BarPattern({ id, index }: { id: string; index: number }) {
  const color = barColor(index)
  return (
    <pattern id={id} width={6} height={6} patternUnits="userSpaceOnUse">
      <rect width={6} height={6} fill={color} />
      <Marks index={index} />
    </pattern>
  )
}

function Marks({ index }: { index: number }) {
  const stroke = { stroke: 'var(--page)', strokeWidth: 1.2 }
  switch (index % 6) {
    case 1:
      return <path d="M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2" {...stroke} />
    case 2:
      return <circle cx={3} cy={3} r={1.2} fill="var(--page)" />
    case 3:
      return <path d="M0,3 h6" {...stroke} />
    case 4:
      return <path d="M3,0 v6" {...stroke} />
    case 5:
      return <path d="M0,3 h6 M3,0 v6" {...stroke} />
    default:
      return null
  }
}

/** The pattern next to a reviewer's name. */
export const BarSwatch = ({ index }: { index: number }) => {
  const id = `swatch-${index}`
  return (
    <svg width={14} height={14} aria-hidden="true">
      <defs>
        <BarPattern id={id} index={index} />
      </defs>
      <rect width={14} height={14} rx={2} fill={`url(#${id})`} />
    </svg>
  )
}
