import { Kbd } from '@mantine/core'

const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

/** A key as this reader's keyboard names it. */
export const keyName = (key: string): string => (key === 'mod' ? (isMac ? '⌘' : 'Ctrl') : key)

/** The keys that do what a button does; nothing for those who see no buttons. */
export const KeyHint = ({ keys }: { keys: readonly string[] }) => (
  <span aria-hidden>
    {keys.map(key => (
      <Kbd key={key} size="xs" ml={3}>
        {keyName(key)}
      </Kbd>
    ))}
  </span>
)
