import { Button, Text } from '@mantine/core'
import { useState } from 'react'
import { messageText } from '../../domain/shared-text.ts'
import type { Json } from '../api/wire.ts'
import { JsonView } from '../json/json-view.tsx'
import { ReadableText } from '../markdown/index.tsx'
import { count } from '../parts/format.ts'
import classes from './conversation.module.css'

/** Longer text is cut off. */
const FOLDED_LENGTH = 3_000
const SHOWN_LENGTH = 2_000
/** Very long text expands into a scrolling box. */
const BOXED_LENGTH = 20_000

interface MessageProps {
  who: 'Input' | 'Output' | 'Approved output'
  value: Json
  className: string | undefined
}

/** What someone said: the text of a message or response if the value has one, or else the value itself. */
export function Message({ who, value, className }: MessageProps) {
  const [isOpen, setOpen] = useState(false)
  const text = messageText(value)
  const isLong = text !== undefined && text.length > FOLDED_LENGTH
  const isBoxed = text === undefined || (isOpen && text.length > BOXED_LENGTH)
  return (
    <div className={`${classes.message} ${isBoxed ? classes.boxed : ''} ${className}`}>
      <Text size="xs" fw={600} c="dimmed">
        {who}
      </Text>
      {isBoxed ? (
        <JsonView value={text ?? value} label={who.toLowerCase()} maxHeight={isOpen ? '70vh' : '240px'} />
      ) : text === '' ? (
        <Text size="sm" c="dimmed">
          empty string
        </Text>
      ) : (
        <ReadableText text={isLong && !isOpen ? `${text.slice(0, SHOWN_LENGTH)}…` : text} />
      )}
      {isLong && (
        <Button variant="subtle" size="compact-xs" onClick={() => setOpen(!isOpen)} aria-expanded={isOpen}>
          {isOpen ? 'Show less' : `Show all ${count(text.length)} characters`}
        </Button>
      )}
    </div>
  )
}
