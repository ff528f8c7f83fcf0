// This file is loaded before a client's program, and makes it print the problems that its exporter reports.
import { DiagConsoleLogger, DiagLogLevel, diag } from '@opentelemetry/api'

diag.setLogger(new DiagConsoleLogger(), DiagLogLevel.WARN)
