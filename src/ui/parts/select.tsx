import { Select as MantineSelect, type SelectProps } from '@mantine/core'

/** In its own file, so that it can load late. */
export const Select = (props: SelectProps<string>) => <MantineSelect {...props} />
