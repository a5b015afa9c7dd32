const draw = () => [confirmed('Remove', 'Remove these items from the collection', () => emit('take_out', {}))];
