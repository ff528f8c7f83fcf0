import { Kbd, Modal, Table } from '@mantine/core'
import { keyName } from './key-hint.tsx'
import { KEYS } from './keys.ts'

/** Lists the inbox's keyboard shortcuts. */
export const KeysHelp = ({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) => (
  <Modal opened={isOpen} onClose={onClose} title="Keyboard shortcuts" closeButtonProps={{ 'aria-label': 'Close' }}>
    <Table verticalSpacing={6} withRowBorders={false}>
      <Table.Tbody>
        {KEYS.map(({ keys, label }) => (
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
