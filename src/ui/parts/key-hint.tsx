import { Kbd } from '@mantine/core'

const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

/** A key's name on this platform. */
export const keyName = (key: string): string => (key === 'mod' ? (isMac ? '⌘' : 'Ctrl') : key)

/** A button's keyboard shortcut, hidden from screen readers. */
export const KeyHint = ({ keys }: { keys: readonly string[] }) => (
  <span aria-hidden>
    {keys.map(key => (
      <Kbd key={key} size="xs" ml={3}>
        {keyName(key)}
      </Kbd>
    ))}
  </span>
)
