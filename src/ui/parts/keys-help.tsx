import { Kbd } from '@mantine/core'
import { keyName } from './key-hint.tsx'
import type { Shortcut } from './keys.ts'
import { LateModal } from './late-modal.tsx'
import { Table } from './table.tsx'

interface KeysHelpProps {
  shortcuts: readonly Shortcut<string>[]
  isOpen: boolean
  onClose: () => void
}

/** Lists a page's keyboard shortcuts. */
export const KeysHelp = ({ shortcuts, isOpen, onClose }: KeysHelpProps) => (
  <LateModal opened={isOpen} onClose={onClose} title="Keyboard shortcuts" closeButtonProps={{ 'aria-label': 'Close' }}>
    <Table verticalSpacing={6}>
      <Table.Tbody>
        {shortcuts.map(({ keys, label }) => (
          <Table.Tr key={label}>
            <Table.Td style={{ width: 110 }}>
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
  </LateModal>
)
