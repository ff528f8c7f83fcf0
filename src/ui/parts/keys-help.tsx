import { Kbd, Modal, Table } from '@mantine/core'
import { keyName } from './key-hint.tsx'
import type { Shortcut } from './keys.ts'

interface KeysHelpProps {
  shortcuts: readonly Shortcut<string>[]
  isOpen: boolean
  onClose: () => void
}

/** Lists a page's keyboard shortcuts. */
export const KeysHelp = ({ shortcuts, isOpen, onClose }: KeysHelpProps) => (
  <Modal opened={isOpen} onClose={onClose} title="Keyboard shortcuts" closeButtonProps={{ 'aria-label': 'Close' }}>
    <Table verticalSpacing={6} withRowBorders={false}>
      <Table.Tbody>
        {shortcuts.map(({ keys, label }) => (
          <Table.Tr key={label}>
            <Table.Td w={110}>
              {keys.map(key => (
                <Kbd key={key} mr={3}>
                  {keyName(key)}
                </Kbd>
              ))}
            </Table.Td>
            <Table.Td>{label}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </Modal>
)
